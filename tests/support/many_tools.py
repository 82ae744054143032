"""Two hundred tools as servers of an office would offer them, and a hundred steps as people would say them.

-> servers with their tools; (tool, what a person says).  Touches: nothing (pure).

The steps are not made from the words of the tools. Neighbours are alike on purpose: a message is sent in five ways.
"""

from chat.mcp.types import Listed

# server: then "tool, its argument names: what its server says of it" a line.
OFFERS = """
mail
 search_messages query: Find messages in the mailbox by sender, subject or text.
 read_message id: Return the full text of one message with its headers.
 send_message to subject body: Send a message from the user's mailbox.
 reply_message id body: Answer a message in its thread.
 forward_message id to: Pass a message on to another recipient.
 archive_message id: Move a message out of the inbox.
 delete_message id: Move a message to the trash.
 label_message id label: Add a label to a message.
 list_labels: List all labels of the mailbox.
 create_filter criteria action: Create a rule that is applied to incoming mail.
 set_auto_reply text start end: Turn on the vacation responder for a period.
 unsubscribe id: Unsubscribe from a mailing list.
calendar
 list_events start end: List the events of a calendar between two times.
 create_event title start end attendees: Create an event and invite attendees.
 update_event id start end title: Change the time, title or place of an event.
 cancel_event id: Cancel an event and notify its attendees.
 find_free_slot attendees minutes: Find a time at which all attendees are free.
 accept_invitation id: Accept an invitation.
 decline_invitation id reason: Decline an invitation with a reason.
 set_working_hours start end: Set the user's working hours.
 list_rooms building: List meeting rooms with their capacity.
 book_room room start end: Reserve a meeting room.
 set_reminder text at: Create a reminder that goes off at a time.
chat
 post_message channel text: Post a message to a channel of the team chat.
 send_direct_message user text: Send a private message to one colleague in the team chat.
 list_channels: List the channels of the workspace.
 create_channel name members: Create a channel and add members.
 search_chat query: Search the history of all channels.
 set_status emoji text: Set the user's presence status.
 add_reaction message emoji: React to a message with an emoji.
 pin_message message: Pin a message in its channel.
 start_poll question options: Start a poll in a channel.
 schedule_message channel text at: Post a message later.
drive
 search_documents query: Search documents in the shared drive by name or content.
 download_file id: Download a file from the shared drive.
 upload_file path folder: Upload a file to the shared drive.
 create_folder name parent: Create a folder.
 move_file id folder: Move a file to another folder.
 share_file id user role: Give a person access to a file.
 revoke_access id user: Remove a person's access to a file.
 list_versions id: List the versions of a document.
 restore_version id version: Restore an older version of a document.
 convert_to_pdf id: Convert a document to PDF.
 get_quota: Show used and free storage space.
sheets
 read_cells sheet range: Read values from a spreadsheet range.
 write_cells sheet range values: Write values to a spreadsheet range.
 append_row sheet values: Append a row at the end of a table.
 add_chart sheet range kind: Insert a chart made from a range.
 sort_rows sheet column: Sort the rows of a table by a column.
 filter_rows sheet condition: Keep only rows that meet a condition.
 pivot sheet rows values: Build a pivot table.
 set_formula sheet cell formula: Put a formula into a cell.
 freeze_rows sheet count: Keep header rows visible while scrolling.
 remove_duplicates sheet columns: Remove duplicate rows.
git
 list_branches repo: List the branches of a repository.
 create_branch repo name: Create a branch.
 commit_files repo message files: Commit changed files.
 open_pull_request repo title branch: Open a pull request.
 merge_pull_request repo number: Merge a pull request.
 review_pull_request repo number verdict: Approve a pull request or request changes.
 show_diff repo a b: Show the differences between two revisions.
 blame repo path: Show who last changed each line of a file.
 search_code repo query: Search source code.
 create_tag repo name: Tag a revision as a release.
 revert_commit repo sha: Undo a commit by a new one.
issues
 create_issue project title body: File an issue in the tracker.
 search_issues query: Search issues by text, label or assignee.
 close_issue id: Close an issue as resolved.
 assign_issue id user: Assign an issue to somebody.
 comment_issue id text: Add a comment to an issue.
 set_priority id priority: Change the priority of an issue.
 link_issues a b: Relate two issues.
 list_sprint project: List the issues of the current sprint.
 move_to_sprint id sprint: Plan an issue into a sprint.
 log_work id hours: Record time spent on an issue.
ops
 deploy service version: Roll out a version of a service.
 rollback service: Return a service to the version before.
 restart_service name: Restart a service.
 scale_service name replicas: Change the number of replicas.
 tail_logs service minutes: Return recent log lines of a service.
 query_metrics expression start end: Query time series of monitoring.
 list_alerts: List firing alerts.
 acknowledge_alert id: Acknowledge an alert.
 silence_alert id hours: Mute an alert for a time.
 create_incident title severity: Declare an incident and page the on-call engineer.
 run_backup database: Make a backup of a database.
 restore_backup database backup: Restore a database from a backup.
database
 list_tables: List the tables of the warehouse.
 describe_table name: Show columns and types of a table.
 run_query sql: Run a read-only SQL query and return rows.
 execute_statement sql: Run an SQL statement that changes data.
 explain_query sql: Show the execution plan of a query.
 export_csv sql: Save a query result as a CSV file.
 create_index table columns: Create an index.
crm
 find_contact query: Look up a person in the customer database.
 create_contact name email phone: Add a person to the customer database.
 update_contact id fields: Change the details of a person in the customer database.
 merge_contacts a b: Merge two records of the same person.
 list_deals stage: List sales opportunities of a stage.
 create_deal title amount contact: Open a sales opportunity.
 move_deal id stage: Move an opportunity to another stage.
 log_call contact notes: Record a phone call with a customer.
 sales_forecast quarter: Predict revenue of a quarter from open opportunities.
support
 list_tickets status: List support tickets by status.
 answer_ticket id text: Send an answer to the customer of a ticket.
 escalate_ticket id team: Hand a ticket to the next level.
 close_ticket id: Mark a ticket as solved.
 search_knowledge_base query: Search help centre articles.
 publish_article title text: Publish a help centre article.
 satisfaction_report month: Report customer satisfaction scores.
finance
 create_invoice customer items due: Issue an invoice to a customer.
 list_unpaid_invoices: List invoices that are overdue.
 send_payment_reminder invoice: Remind a customer of an overdue invoice.
 record_payment invoice amount: Book an incoming payment.
 refund_payment payment amount: Pay money back to a customer.
 submit_expense amount category receipt: Hand in an expense claim.
 approve_expense id: Approve an expense claim of an employee.
 exchange_rate base quote: Return the exchange rate of two currencies.
 bank_balance account: Return the balance of a bank account.
 transfer_money account amount iban: Transfer money to an account.
 profit_and_loss start end: Produce the income statement of a period.
people
 employee_directory query: Look up an employee with team, manager and phone.
 request_leave start end kind: Request days off.
 leave_balance: Show remaining vacation days.
 approve_leave id: Approve a leave request.
 report_sick start: Report sick.
 org_chart team: Show the reporting lines of a team.
 create_job_posting title text: Publish a vacancy.
 list_applicants job: List candidates of a vacancy.
 schedule_interview applicant start: Arrange an interview with a candidate.
 payslip month: Download a payslip.
 onboarding_checklist person: Create the tasks of a new employee's first days.
trips
 search_flights origin destination date: Search flights.
 book_flight offer passengers: Book a flight.
 cancel_flight booking: Cancel a flight booking.
 check_in booking seat: Check in for a flight and choose a seat.
 flight_status number date: Return departure, gate and delay of a flight.
 search_trains origin destination date: Search train connections.
 buy_train_ticket connection: Buy a train ticket.
 rent_car place start end: Rent a car.
 order_taxi pickup destination time: Order a taxi.
 visa_requirements nationality country: Tell which visa is needed.
maps
 geocode address: Turn an address into coordinates.
 route origin destination mode: Compute a route with distance and travel time.
 nearby_places location kind: Find places of a kind around a location.
 traffic area: Report the current traffic situation.
 elevation location: Return the height above sea level.
 time_zone location: Return the time zone of a location.
 static_map location zoom: Draw a map image.
home
 turn_on_light room: Switch on the lights of a room.
 turn_off_light room: Switch off the lights of a room.
 set_temperature room degrees: Set the thermostat.
 lock_door door: Lock a door.
 unlock_door door: Unlock a door.
 start_vacuum room: Start the robot vacuum cleaner.
 camera_snapshot camera: Take a picture with a security camera.
 play_music room query: Play music on a speaker.
 water_garden zone minutes: Water the garden.
shop
 search_products query: Search articles of the online shop.
 product_reviews id: Show customer reviews of an article.
 add_to_cart id quantity: Put an article into the shopping cart.
 place_order address: Order the articles in the cart.
 track_parcel number: Show where a parcel is.
 return_item order reason: Send an article back.
 price_history id: Show how the price of an article has developed.
 stock_level id: Tell how many pieces of an article are in the warehouse.
media
 transcribe_audio file: Write down speech from a recording.
 translate_text text target: Translate text to another language.
 summarize_video url: Summarise a video.
 generate_image prompt: Create a picture from a description.
 resize_image file width: Change the size of a picture.
 remove_background file: Cut out the subject of a photo.
 extract_text_from_image file: Recognise text in a scanned page or photo.
 text_to_speech text voice: Read a text aloud into a sound file.
 cut_video file start end: Cut a clip out of a video.
 qr_code text: Make a QR code.
health
 log_meal text: Record a meal with calories.
 log_workout kind minutes: Record a sports session.
 sleep_report week: Report how well the user slept.
 medication_reminder drug times: Remind of taking a drug.
 find_doctor specialty place: Find a doctor's practice.
 book_appointment doctor start: Make an appointment at a practice.
 step_count day: Return the number of steps walked.
news
 headlines topic: Return today's headlines of a topic.
 stock_quote symbol: Return the price of a share.
 company_profile name: Describe a company with its key figures.
 sports_results league: Return match results of a league.
 weather_warning region: Return official warnings of storms and floods.
 podcast_search query: Find podcast episodes.
"""

# What a person would say, or a plan's step would be called; never in the tool's words alone.
STEPS = [
    ("mail__search_messages", "Where is that mail from Anna about the lease?"),
    ("mail__read_message", "Open the latest letter from the bank and tell me what it says"),
    ("mail__send_message", "Write to tom@example.com that I will be ten minutes late"),
    ("mail__forward_message", "Let Julia have the mail I got from the landlord"),
    ("mail__set_auto_reply", "I'm away next week, have people who write to me told so"),
    ("mail__unsubscribe", "I don't want this newsletter any more"),
    ("mail__create_filter", "From now on everything from the school should go straight into its own folder"),
    ("calendar__list_events", "What do I have on Thursday?"),
    ("calendar__create_event", "Put lunch with Ben at noon on Friday into my diary and ask him to come"),
    ("calendar__update_event", "Push the budget meeting back by an hour"),
    ("calendar__find_free_slot", "When could Mia, Paul and I all meet for half an hour?"),
    ("calendar__book_room", "We need a place for eight people to sit together at three, get us one"),
    ("calendar__decline_invitation", "Tell them I can't come to the workshop"),
    ("calendar__set_reminder", "Don't let me forget to call mum at six"),
    ("chat__post_message", "Announce in #general that the kitchen is closed today"),
    ("chat__send_direct_message", "Ping Omar privately and ask whether he is done"),
    ("chat__start_poll", "Let the team vote on where to go for dinner"),
    ("chat__search_chat", "Somebody in the channels mentioned a discount code, find it"),
    ("chat__set_status", "Show everyone that I'm busy until two"),
    ("drive__upload_file", "Put the slides where the whole department can get them"),
    ("drive__share_file", "Let Lena read the contract document"),
    ("drive__revoke_access", "Kevin has left, he must not see the price list any longer"),
    ("drive__restore_version", "Somebody ruined the proposal, bring back how it was yesterday"),
    ("drive__convert_to_pdf", "I need the offer as a PDF"),
    ("drive__get_quota", "How much room is left for our files?"),
    ("sheets__append_row", "Add today's takings as a new line to the cash book"),
    ("sheets__add_chart", "Make a bar graph out of the monthly figures"),
    ("sheets__remove_duplicates", "Some addresses are in the list twice, throw out the extra ones"),
    ("sheets__read_cells", "What stands in B2 to B10 of the budget spreadsheet?"),
    ("sheets__sort_rows", "Order the table by last name"),
    ("git__open_pull_request", "Propose my branch to be merged"),
    ("git__blame", "Who wrote line 40 of parser.py?"),
    ("git__revert_commit", "That last change broke everything, take it back out of the repository"),
    ("git__search_code", "Where in the sources do we call the payment API?"),
    ("git__review_pull_request", "Look at PR 52 and say it is fine"),
    ("issues__create_issue", "Report a bug: the login button does nothing on phones"),
    ("issues__assign_issue", "Give the crash report to Sofia to work on"),
    ("issues__log_work", "Note that I worked three hours on the search bug"),
    ("issues__set_priority", "The export bug is urgent now, mark it so"),
    ("ops__rollback", "The new release of checkout is broken, go back to the one before"),
    ("ops__tail_logs", "What did the billing service print in the last ten minutes?"),
    ("ops__scale_service", "Run six copies of the web frontend instead of three"),
    ("ops__silence_alert", "Stop the disk alarm from nagging until tomorrow"),
    ("ops__run_backup", "Make a safe copy of the orders database first"),
    ("ops__query_metrics", "How has the CPU load of the api been since this morning?"),
    ("database__describe_table", "Which columns does customers have?"),
    ("database__run_query", "How many users signed up last month, by country? Ask the warehouse"),
    ("database__explain_query", "Find out why this select is so slow"),
    ("crm__find_contact", "What's the phone number of our client Mrs Okafor?"),
    ("crm__log_call", "Note that I talked to Mr Braun on the phone about the renewal"),
    ("crm__merge_contacts", "Jane Smith is in our customer base twice, make one of it"),
    ("crm__sales_forecast", "How much will we probably sell by the end of March?"),
    ("support__answer_ticket", "Write back to the customer of case 881 that the part is on its way"),
    ("support__escalate_ticket", "Case 17 is too hard for us, pass it to second level"),
    ("finance__create_invoice", "Bill Acme for ten hours of consulting"),
    ("finance__send_payment_reminder", "Globex still hasn't paid, nudge them"),
    ("finance__refund_payment", "Give Ms Lee her 40 euros back"),
    ("finance__submit_expense", "I paid 23 euros for the taxi to the client, I want it back from the firm"),
    ("finance__exchange_rate", "How many yen do I get for a dollar?"),
    ("finance__transfer_money", "Wire 500 to the plumber's account"),
    ("people__request_leave", "I'd like the first week of August free"),
    ("people__leave_balance", "How many holidays do I have left this year?"),
    ("people__report_sick", "I have a fever and can't work today"),
    ("people__employee_directory", "Who is the boss of Daniel in purchasing?"),
    ("people__payslip", "Get me the statement of my salary for May"),
    ("trips__search_flights", "How can I fly from Oslo to Porto on May 3?"),
    ("trips__flight_status", "Is LH 404 on time?"),
    ("trips__order_taxi", "Get me a cab to the airport at five in the morning"),
    ("trips__visa_requirements", "Do I need any papers to enter Vietnam as a Spaniard?"),
    ("trips__check_in", "Get me an aisle seat on tomorrow's plane"),
    ("maps__route", "How long does it take to cycle from the station to the lake?"),
    ("maps__nearby_places", "Is there a pharmacy close to the hotel?"),
    ("home__set_temperature", "It's too cold in the living room, make it 21"),
    ("home__turn_off_light", "Make the kitchen dark"),
    ("home__start_vacuum", "Have the bedroom floor cleaned"),
    ("shop__track_parcel", "Where is my package 1Z999?"),
    ("shop__return_item", "The shoes don't fit, they should go back"),
    ("media__transcribe_audio", "Turn the recording of the interview into text"),
    ("media__extract_text_from_image", "What is written on this photographed receipt?"),
    ("health__find_doctor", "I need somebody to look at my skin, in Graz"),
    # In Chinese, to tools that are described in English.
    ("mail__search_messages", "帮我找一下房东上个月发来的邮件"),
    ("mail__send_message", "给王经理发封邮件，说合同已经签好了"),
    ("calendar__create_event", "把周五下午三点的评审会加到日历里"),
    ("calendar__find_free_slot", "看看小李和我什么时候都有空"),
    ("chat__post_message", "在群里通知大家明天停电"),
    ("drive__share_file", "把报价单共享给张敏"),
    ("sheets__add_chart", "用每月的销售额画一张图表"),
    ("issues__create_issue", "提交一个缺陷：手机上无法登录"),
    ("ops__tail_logs", "看一下支付服务最近的日志"),
    ("database__run_query", "查询数据库里上个月有多少新用户"),
    ("finance__create_invoice", "给客户开一张发票"),
    ("finance__exchange_rate", "现在一美元能换多少人民币"),
    ("people__request_leave", "我想请三天假"),
    ("people__leave_balance", "我今年还剩几天年假"),
    ("trips__search_flights", "查一下五月三日从北京飞上海的航班"),
    ("trips__order_taxi", "明早五点叫一辆出租车去机场"),
    ("maps__route", "从火车站到西湖怎么走，要多久"),
    ("home__set_temperature", "把客厅的温度调到二十一度"),
    ("shop__track_parcel", "我的快递到哪里了"),
    ("media__translate_text", "把这段话翻译成法语"),
]

# Written after the search was finished, and not looked at while it was made.
UNSEEN = [
    ("mail__reply_message", "Answer Peter's mail: yes, Tuesday works"),
    ("mail__delete_message", "Throw that spam away"),
    ("mail__archive_message", "Get this conversation out of my inbox, but keep it"),
    ("calendar__cancel_event", "The standup tomorrow won't take place, tell everybody"),
    ("calendar__accept_invitation", "Say yes to the design review"),
    ("chat__create_channel", "Open a place where the launch team can talk"),
    ("chat__schedule_message", "Post the reminder in the team channel tomorrow at nine"),
    ("drive__list_versions", "Which earlier states of the handbook are there?"),
    ("drive__create_folder", "Make a new directory for the tax papers"),
    ("sheets__write_cells", "Put 1,200 into cell C4 of the budget"),
    ("sheets__pivot", "Summarise the orders by region and product"),
    ("git__create_branch", "Start a branch for the new parser"),
    ("git__show_diff", "What has changed between v1 and v2?"),
    ("issues__close_issue", "The typo bug is fixed, tick it off"),
    ("issues__search_issues", "Is there already a report about slow uploads?"),
    ("ops__deploy", "Ship version 2.4 of the shop service"),
    ("ops__restart_service", "The mail server hangs, turn it off and on again"),
    ("ops__create_incident", "Payments are down for everybody, wake up who is on call"),
    ("database__export_csv", "Save all orders of May as a CSV"),
    ("crm__create_contact", "I met a new client, Rosa Diaz, keep her details"),
    ("crm__move_deal", "The Initech opportunity is won"),
    ("support__search_knowledge_base", "Do we have a help article on resetting passwords?"),
    ("finance__list_unpaid_invoices", "Who still owes us money?"),
    ("finance__approve_expense", "Nadia's travel costs are fine, let them through"),
    ("people__schedule_interview", "Invite the candidate to talk with us on Monday"),
    ("people__create_job_posting", "We are looking for a nurse, advertise it"),
    ("trips__search_trains", "What trains go from Lyon to Turin on Sunday morning?"),
    ("trips__rent_car", "I need wheels in Palermo for three days"),
    ("maps__traffic", "Are there jams on the way into town?"),
    ("home__lock_door", "Make sure nobody can get in at the front"),
    ("shop__product_reviews", "What do buyers say about this kettle?"),
    ("shop__add_to_cart", "I'll take two of these"),
    ("media__resize_image", "Make the photo 800 pixels wide"),
    ("media__generate_image", "Draw me a fox in a spacesuit"),
    ("health__log_workout", "I ran for 40 minutes"),
    ("news__stock_quote", "What is a share of Siemens worth?"),
    ("mail__reply_message", "回复小陈的邮件，告诉他可以"),
    ("calendar__cancel_event", "取消明天上午的例会"),
    ("git__merge_pull_request", "把这个合并请求合进去"),
    ("ops__restart_service", "重启一下邮件服务"),
    ("support__close_ticket", "这个工单已经解决了，关掉吧"),
    ("finance__bank_balance", "公司账户里还有多少钱"),
    ("trips__book_flight", "就订这个航班，两个人"),
    ("shop__search_products", "在商城里找一款无线耳机"),
    ("home__play_music", "在卧室放点轻音乐"),
    ("media__qr_code", "把这个网址做成二维码"),
    ("health__book_appointment", "预约周三下午的牙医"),
    ("news__headlines", "今天有什么科技新闻"),
    ("people__org_chart", "研发部的上下级关系是怎样的"),
    ("drive__download_file", "把合同文件下载下来"),
]


def servers() -> dict[str, list[Listed]]:
    """Server -> its tools."""
    found: dict[str, list[Listed]] = {}
    tools: list[Listed] = []
    for line in OFFERS.strip().splitlines():
        if not line.startswith(" "):
            tools = found.setdefault(line, [])
            continue
        head, _colon, says = line.strip().partition(":")
        name, *names = head.split()
        schema = {"type": "object", "properties": {one: {"type": "string"} for one in names}, "required": names}
        tools.append(Listed(name=name, description=says.strip(), schema=schema))
    return found
