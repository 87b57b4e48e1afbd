"""ASVS, chapters 10 to 14: code, business logic, files, the API, and its configuration."""

from explorer.security.rows import Chapter, by_design, met, not_met, not_ours

CODE = Chapter(
    "V10 Code that does harm",
    (
        by_design(
            "10.2.2, 10.3.1",
            "Nothing updates itself, and pages ask for no camera, place or the like.",
            "There is no updater. Of the device, scripts ask for nothing but the clipboard, to "
            "write to it, when somebody clicks Copy.",
        ),
        not_met(
            "10.3.2",
            "Nothing of strangers is loaded or run that was not checked.",
            "Packages are pinned by hash, and npm's run no script. Pages load from their own host "
            "alone. But images of containers are named by tag: what stands under one may change.",
            "test_pins.py::test_nothing_is_installed_unpinned_and_no_package_runs_a_script",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
        ),
        not_met(
            "10.3.3",
            "Whoever takes over a forgotten name of the domain gains nothing by it.",
            "Pages load from their own host alone, and browsers keep the cookies from every other "
            "name (__Host-). But names of nodes, brokers and webhooks are asked as DNS has "
            "them: whether one of these is forgotten, nothing watches. A node or a receiver that "
            "somebody else has taken over is believed no more than any other.",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
        ),
        not_met(
            "10.1.1, 10.2.1",
            "Nothing calls home, in packages of others either; an analyser looks for it.",
            "Of our own code a rule names what may talk to a network. Packages of others were not "
            "looked through, and Ruff's rules for security run on our own code alone.",
            "test_layers.py::test_the_code_keeps_every_rule",
        ),
    ),
)
LOGIC = Chapter(
    "V11 Business logic",
    (
        not_met(
            "11.1.3",
            "Each person has limits to what they may have done.",
            "What is spent has a limit for a chain, most_a_day, and none for an account. Keys, "
            "estimates and replays have limits for an account, and sign-ins for a browser and a "
            "network.",
            "queries/pipeline/test_day.py::test_no_more_than_the_days_bound_is_spent",
            "queries/pipeline/test_own_webhooks.py::test_replays_have_an_allowance_of_their_owner",
            "queries/pipeline/test_estimates.py::test_an_account_has_few_a_minute_with_all_its_keys",
            "accounts/test_rate_limits.py::test_of_a_hundred_at_once_exactly_the_limit_pass",
        ),
        met(
            "11.1.1, 11.1.5",
            "Steps happen in order, and the risks of the business have bounds.",
            "One module changes a status, by guarded updates; batches and webhooks of accounts "
            "take turns; what a chain may cost in a day has a bound.",
            "test_layers.py::test_the_code_keeps_every_rule",
            "queries/pipeline/test_webhook_turns.py::test_accounts_take_turns",
            "queries/pipeline/test_fair_turns.py::test_one_account_is_proven_among_the_thousands_of_another",
            "queries/pipeline/test_day.py::test_no_more_than_the_days_bound_is_spent",
        ),
        not_met(
            "11.1.2, 11.1.4",
            "Nobody is quicker than people are, or reads and asks for all that there is.",
            "Programs ask, as often as a key's limit lets them. What an account has kept for it in "
            "a day has a bound, FACTS_PER_DAY, but accounts cost nothing, and nothing is deleted. "
            "Pages have none but that of the proxy.",
            "explorer/test_gate.py::test_when_too_many_wait_the_next_is_told_so_at_once",
        ),
        met(
            "1.11.2, 11.1.6",
            "Two things at once do not get past a check.",
            "Claims and counts are single statements.",
            "queries/api/test_idempotency.py::test_of_many_at_once_one_is_stored",
            "accounts/test_two_workers.py::test_a_key_is_counted_and_revoked_for_both",
        ),
        not_met(
            "11.1.7, 11.1.8",
            "Unusual use is watched and raises an alarm.",
            "Alarms are for what the service suffers, as many rejections or work that fails. None "
            "is for what one person does.",
            "explorer/monitoring/test_ready_made.py::test_every_alert_says_what_is_wrong_and_what_to_do",
        ),
    ),
)
FILES = Chapter(
    "V12 Files",
    (
        not_met(
            "12.1.1",
            "What is sent fills no disk.",
            "Bodies are bounded, and so is what the batches of an account ask for in a day: "
            "FACTS_PER_DAY, of which a million takes up to 3.5 GB, and some 10 GB where each is a "
            "batch of its own with all that a batch may have. But who makes new accounts all "
            "day fills a disk that nobody watches.",
            "queries/test_facts_of_a_day.py::test_an_account_has_so_many_in_a_day",
        ),
        met(
            "12.1, 12.3, 12.5",
            "What is sent is bounded, names no file, and what is served is what is meant to be.",
            "A body that is too large is refused by its length alone, a compressed one as it is.",
            "explorer/test_request_bodies.py::test_it_is_refused_with_a_page_or_in_json",
            "queries/api/test_bodies.py::test_a_compressed_body_is_asked_for_plain",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
            "explorer/test_serve.py::test_production",
        ),
        not_met(
            "12.3.4",
            "All that is answered is saved under a name of ours, whatever the address says.",
            "Files have such a name. The API's JSON has none, and is JSON by its kind.",
            "explorer/test_facts_of_pages.py::test_each_page_leads_to_its_files_and_both_say_the_same",
        ),
        not_ours(
            "1.12, 12.1.2, 12.1.3, 12.2, 12.4",
            "Files that people upload: how many, of what kind, with what inside.",
            "None is taken. What is kept of batches: see 12.1.1.",
        ),
    ),
)
API = Chapter(
    "V13 API",
    (
        met(
            "13.1.1",
            "What reads addresses reads them in one way.",
            "A webhook's is taken in one spelling, about which readers do not disagree, and what "
            "calls it goes to the address that was looked at.",
            "queries/schema/test_webhook_schema.py::test_what_is_no_address",
            "queries/test_webhooks.py::test_the_connection_goes_to_the_address_that_was_looked_at",
        ),
        met(
            "13.1.4",
            "Who may is asked at the address, and again of the thing.",
            "An address of the API asks for a key, but those that are told to be open; rows are "
            "then sought among its owner's. Whoever knows a batch's id may read its status.",
            "queries/api/test_surface.py::test_every_answer_is_described",
            "queries/pipeline/test_own_webhooks.py::test_nobody_sends_anothers_again",
        ),
        not_met(
            "13.1.5, 13.2.5",
            "A body of a wrong kind, or of none, is refused.",
            "A wrong kind is refused (415); a missing one is taken for JSON, because some clients "
            "send none. Sign-in's body is read as JSON whatever kind it says it is.",
            "queries/api/test_bodies.py::test_another_kind_is_refused",
        ),
        met(
            "13.2.1 to 13.2.3",
            "Methods and schema are checked; no verb does what it should not; no cookie counts.",
            "405 and 400 with a code; what the description says is tested from it.",
            "queries/api/test_surface.py::test_every_answer_is_described",
            "queries/api/test_surface.py::test_what_links_lead_to_is_described",
            "queries/api/test_submitting.py::test_a_cookie_is_no_key",
        ),
        met(
            "13.2.6",
            "Nobody changes a message on its way.",
            "The API is asked over TLS alone. A webhook is signed, its time and its body, over "
            "http too.",
            "explorer/test_api_answers.py::test_plain_http_is_refused_to_programs_and_sends_people_on",
            "queries/pipeline/test_webhook_deliveries.py::test_it_is_told_once_with_facts_and_a_signature",
        ),
        not_ours("13.3, 13.4", "SOAP and GraphQL.", "There is neither."),
    ),
)
CONFIGURATION = Chapter(
    "V14 Configuration",
    (
        not_met(
            "14.1.1",
            "Building and deploying can be repeated.",
            "Packages are installed from pins with hashes, and contracts are built bit for bit. "
            "Images of containers are named by tag, so that tomorrow's may be another.",
            "test_pins.py::test_every_dependency_has_a_range_and_a_pin_in_it",
            "queries/contracts/test_build.py::test_the_build_output_is_that_of_the_sources",
        ),
        not_ours(
            "14.1.2",
            "Compilers protect memory, and warn.",
            "Nothing of ours is compiled to a machine's code; packages that hold some come built. "
            "The contracts' build ends at any warning.",
        ),
        met(
            "14.1",
            "The server is set up as its framework advises, and is brought back from a backup.",
            "Django's check for deployment passes; a backup is brought back by a test.",
            "explorer/test_settings.py::test_production_settings_pass_djangos_deployment_check",
            "explorer/test_backup.py::test_what_was_backed_up_is_brought_back",
        ),
        met(
            "14.2.3",
            "What pages load from elsewhere is checked.",
            "They load nothing from elsewhere.",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
        ),
        not_met(
            "14.2.4",
            "Dependencies come from known places, and are kept up.",
            "They come from PyPI and npm, by their hashes. Whether each is kept up nothing "
            "watches, and siwe holds abnf and web3 at older versions than there are.",
            "test_pins.py::test_siwes_own_dependency_is_held_where_siwe_still_imports",
            "test_pins.py::test_no_pin_names_an_address",
        ),
        not_met(
            "14.2.5",
            "There is a list of all that is used of others.",
            "Each package stands below with why it is here. Images of containers, and what is in "
            "them, stand on no list.",
            "test_dependencies.py::test_every_direct_dependency_says_why_it_is_here",
            "test_dependencies.py::test_what_others_need_is_told_with_who_does",
        ),
        not_met(
            "14.2.2",
            "What is not needed is left out: examples, demos, documentation.",
            "The image holds the demo and the bench, which nothing starts; the demo's wallet is "
            "refused but for development on this machine.",
            "explorer/test_serve.py::test_the_demo_wallet_is_for_this_machine",
        ),
        not_met(
            "1.14.3, 14.2.1",
            "Known holes in dependencies are looked for automatically.",
            "The data for it is on the network, which tests do without: the commands stand below.",
        ),
        not_met(
            "14.2.6",
            "Packages of others are shut away, so that they can do no more than is needed.",
            "They run as we do. Who may import which is a rule; a container bounds all of it.",
            "test_layers.py::test_the_code_keeps_every_rule",
        ),
        not_met(
            "14.4.2",
            "Answers of the API are marked as files to be saved.",
            "They are JSON with nosniff, so no browser shows them as a page; files are marked.",
            "explorer/test_serve.py::test_production",
        ),
        not_met(
            "14.3.3",
            "No answer tells versions of what is used.",
            "Our own is on every page, in /openapi.json and in /tacitus.py, and this page lists "
            "all packages, without their versions. The server program does not tell its own.",
            "explorer/test_serve.py::test_production",
        ),
        not_met(
            "14.4.1, 14.4.4, 14.4.5",
            "Every answer tells its kind, has nosniff, and over TLS HSTS.",
            "The server program's own have none of these, and no body either: a 400 to what is no "
            "HTTP, and a 431 to a head of more than 100 headers or some 32 KiB, before anything "
            "of ours sees it. Its HTTP library lets nobody change them.",
            "explorer/test_serving_process.py::test_what_the_server_program_refuses_itself_is_bare",
        ),
        met(
            "14.3, 14.4",
            "No debugging in production; headers are strict.",
            "DEBUG alone does not start; pages have a policy without inline scripts; all answers "
            "with a body have nosniff, no frames, over TLS also HSTS, and a referrer for ourselves "
            "alone, those of a full server too. Those without are told in 14.4.1.",
            "explorer/test_settings.py::test_it_refuses_to_start_and_says_what_to_set",
            "explorer/test_serve.py::test_production",
            "explorer/test_gate.py::test_what_is_answered_without_django_has_the_headers_of_its_answers",
        ),
        not_met(
            "14.5.3",
            "Only origins that are listed may read answers from a browser.",
            "Any may read the API's, which count no cookie: pages of dApps ask it. API_CORS closes "
            "that to all.",
            "explorer/test_api_answers.py::test_an_operator_may_keep_other_origins_out",
        ),
        not_met(
            "14.5.4",
            "What the proxy says in headers is proven to be its word.",
            "It is believed where BEHIND_PROXY is set: nobody else may reach the server's port.",
            "explorer/test_slow_clients.py::test_no_underscore_passes_for_the_proxys_word",
        ),
        not_met(
            "14.5.1",
            "Methods that are not meant are refused, and each refusal is logged.",
            "They are refused. Each refusal has its line, but those of a full server, which have "
            "one together, and of a body that is cut short, which has none.",
            "explorer/test_api_answers.py::test_another_method_is_told_what_is_taken",
            "explorer/test_pages.py::test_a_page_is_only_read",
            "accounts/test_operators.py::test_what_is_neither_read_nor_sent_is_refused",
            "explorer/test_request_log.py::test_a_request_is_logged_once_with_its_id",
        ),
        met(
            "14.5",
            "Origin opens nothing.",
            "CORS opens the API without cookies, and can be closed.",
            "explorer/test_api_answers.py::test_pages_are_for_their_own_origin",
            "explorer/test_api_answers.py::test_an_operator_may_keep_other_origins_out",
        ),
    ),
)
