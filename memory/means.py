"""Forty sentences in English and in Chinese that mean the same, to find where each language sits in a vector space.

Touches: nothing (data).

The mean vector of a language is taken off its texts, so that a Chinese question and an English memory are compared
by what they say, not by the language they say it in.
"""

PAIRS: tuple[tuple[str, str], ...] = (
    ("The user lives in a small flat near the river.", "用户住在河边的一套小公寓里。"),
    ("My sister starts her new job on Monday.", "我妹妹星期一开始新工作。"),
    ("Where did I park the car yesterday?", "我昨天把车停在哪里了？"),
    ("He prefers tea without sugar in the morning.", "他早上喜欢喝不加糖的茶。"),
    ("The meeting was moved to three o'clock on Friday.", "会议改到了星期五三点。"),
    ("Which airline does she usually fly with?", "她平时坐哪家航空公司的飞机？"),
    ("We paid the invoice twice by mistake.", "我们不小心把发票付了两次。"),
    ("The dog is afraid of thunder and fireworks.", "这只狗害怕打雷和烟花。"),
    ("Please write short answers and give the result first.", "请写简短的回答，先给出结果。"),
    ("The server must be restarted after every update.", "每次更新之后必须重启服务器。"),
    ("I am allergic to shellfish and penicillin.", "我对贝类和青霉素过敏。"),
    ("What was the name of the restaurant by the lake?", "湖边那家餐厅叫什么名字？"),
    ("Their daughter studies medicine in another city.", "他们的女儿在另一个城市学医。"),
    ("The report is due at the end of the month.", "报告月底要交。"),
    ("She has run two marathons this year.", "她今年跑了两次马拉松。"),
    ("Do not book hotels that are far from the station.", "不要预订离车站远的酒店。"),
    ("The price rose by ten percent last winter.", "去年冬天价格上涨了百分之十。"),
    ("How long does the train to the airport take?", "去机场的火车要多久？"),
    ("My grandmother taught me to bake bread.", "外婆教会了我烤面包。"),
    ("The password policy changed after the audit.", "审计之后密码政策改变了。"),
    ("He broke his left arm while skiing.", "他滑雪时摔断了左臂。"),
    ("The library closes early on public holidays.", "图书馆在公共假日提早关门。"),
    ("Can you recommend a quiet place to work?", "你能推荐一个安静的工作地点吗？"),
    ("The customer asked for a refund and an apology.", "客户要求退款并道歉。"),
    ("I usually go swimming after work.", "我下班后通常去游泳。"),
    ("The team uses one database for all projects.", "团队的所有项目共用一个数据库。"),
    ("Our anniversary is in early spring.", "我们的结婚纪念日在初春。"),
    ("Who is responsible for the budget of the project?", "谁负责这个项目的预算？"),
    ("The old bridge was closed because of the flood.", "旧桥因为洪水关闭了。"),
    ("She collects stamps and old maps.", "她收集邮票和旧地图。"),
    ("The new phone has a better camera but a weak battery.", "新手机的相机更好，但是电池不耐用。"),
    ("He quit smoking three years ago.", "他三年前戒了烟。"),
    ("Check the weather before planning the trip.", "计划旅行之前先看天气。"),
    ("The children are learning to play the piano.", "孩子们正在学弹钢琴。"),
    ("When does the shop open on Sundays?", "这家店星期天几点开门？"),
    ("The contract was signed by both companies.", "两家公司都签了合同。"),
    ("I forgot my umbrella on the bus.", "我把雨伞忘在公共汽车上了。"),
    ("The doctor advised him to eat less salt.", "医生建议他少吃盐。"),
    ("They want to visit the desert and the old capital.", "他们想去看沙漠和古都。"),
    ("What colour did she choose for the kitchen?", "她给厨房选了什么颜色？"),
)
