"""One name for each subject and attribute, whatever words were used: two texts must meet to contradict each other.

words -> name.  Touches: nothing (pure).
"""

import re

from memory.text import normal

ME = "user"
_ME = frozenset("user me i myself the user person 我 本人 自己 用户 用戶".split()) | {"the user", "the person"}
# Many words for one attribute: two texts must meet to contradict each other.
_SAME = {
    "lives in": "residence location city home address current_city place_of_residence lives live_in living_in "
    "current_location hometown_now 住址 居住地 住在 现居 所在地 城市 地址",
    "works at": "employer company workplace works_for work_at employed_by 公司 雇主 工作单位 就职于 单位",
    "job": "occupation profession job_title works_as role position title 职业 工作 职位 岗位",
    "name": "full_name called 名字 姓名 叫",
    "age": "years_old 年龄 岁数",
    "birthday": "date_of_birth born born_on birth_date dob 生日 出生日期",
    "phone number": "telephone_number mobile_number telephone 电话 手机号 手机号码 电话号码",
    "phone": "mobile cell_phone smartphone 手机",
    "email": "e-mail email_address mail 邮箱 电子邮件",
    "drinks": "drink beverage 喝 饮料",
    "eats": "eat food 吃",
    "likes": "like loves enjoys prefers preference 喜欢 爱好 偏好",
    "dislikes": "dislike hates avoids 不喜欢 讨厌",
    "allergic to": "allergy allergies allergic 过敏",
    "spouse": "wife husband partner 妻子 丈夫 老婆 老公 爱人",
}
_ATTRIBUTES = {normal(alias.replace("_", " ")): name for name, aliases in _SAME.items() for alias in aliases.split()}
# Of these several may be so at once; a new one does not end the old one.
MANY = frozenset(
    "likes|dislikes|drinks|eats|allergic to|is|has|speaks|uses|plays|takes|wears|drives|learns|visited".split("|")
)


def subject_name(text: str) -> str:
    name = normal(text)[:120]
    return ME if name in _ME else re.sub(r"^(?:my |the user s |user s |我的|用户的|我(?=.))", "", name) or ME


def attribute_name(text: str) -> str:
    name = normal(text.replace("_", " "))[:120]
    return _ATTRIBUTES.get(name, name)
