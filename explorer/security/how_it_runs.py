"""ASVS, chapters 10 to 14: code, business logic, files, the API, and its configuration."""

from explorer.security.rows import Chapter, met, not_met, not_ours

CODE = Chapter(
    "V10 Code that does harm",
    (
        met(
            "10.2.2, 10.3",
            "Nothing of strangers is loaded, nothing updates itself, and pages ask for no camera, "
            "place or the like.",
            "Packages are pinned by hash, and npm's run no script. Pages load from their own host "
            "alone.",
            "test_pins.py::test_nothing_is_installed_unpinned_and_no_package_runs_a_script",
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
        met(
            "11.1.1, 11.1.3, 11.1.5",
            "Steps happen in order, and there are limits to what one may have done.",
            "One module changes a status, by guarded updates; keys, estimates, replays and "
            "sign-ins have limits; batches and webhooks of accounts take turns.",
            "test_layers.py::test_the_code_keeps_every_rule",
            "queries/pipeline/test_webhook_turns.py::test_accounts_take_turns",
            "queries/pipeline/test_fair_turns.py::test_one_account_is_proven_among_the_thousands_of_another",
            "queries/pipeline/test_estimates.py::test_an_account_has_few_a_minute_with_all_its_keys",
            "accounts/test_rate_limits.py::test_of_a_hundred_at_once_exactly_the_limit_pass",
        ),
        not_met(
            "11.1.2, 11.1.4",
            "Nobody is quicker than people are, or reads and asks for all that there is.",
            "Programs ask, as often as a key's limit lets them; accounts cost nothing, and what "
            " each has kept for it has no bound. Pages have none but that of the proxy.",
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
        met(
            "12.1, 12.3, 12.5",
            "What is sent fills no disk, names no file, and what is served is what is meant to be.",
            "A body that is too large is refused by its length alone, a compressed one as it is. "
            "Downloads have names and kinds of ours.",
            "explorer/test_request_bodies.py::test_it_is_refused_with_a_page_or_in_json",
            "queries/api/test_bodies.py::test_a_compressed_body_is_asked_for_plain",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
            "explorer/test_serve.py::test_production",
        ),
        not_ours(
            "1.12, 12.1.2, 12.1.3, 12.2, 12.4",
            "Files that people upload: how many, of what kind, with what inside.",
            "None is taken. What is kept of batches has no bound for an account: see 11.1.4.",
        ),
    ),
)
API = Chapter(
    "V13 API",
    (
        met(
            "13.1, 13.2",
            "Methods, kinds of body and their schema are checked; no verb does what it should not.",
            "405, 415 and 400 with a code; what the description says is tested from it.",
            "queries/api/test_surface.py::test_every_answer_is_described",
            "queries/api/test_surface.py::test_what_links_lead_to_is_described",
            "queries/api/test_bodies.py::test_another_kind_is_refused",
        ),
        not_ours("13.3, 13.4", "SOAP and GraphQL.", "There is neither."),
    ),
)
CONFIGURATION = Chapter(
    "V14 Configuration",
    (
        met(
            "14.1",
            "Building and deploying can be repeated.",
            "From pins with hashes; contracts bit for bit; a backup is brought back by a test.",
            "test_pins.py::test_every_dependency_has_a_range_and_a_pin_in_it",
            "queries/contracts/test_build.py::test_the_build_output_is_that_of_the_sources",
            "explorer/test_settings.py::test_production_settings_pass_djangos_deployment_check",
            "explorer/test_backup.py::test_what_was_backed_up_is_brought_back",
        ),
        met(
            "14.2.3 to 14.2.5",
            "Dependencies are known and of known origin; nothing is loaded from elsewhere.",
            "Each stands below with why it is here.",
            "test_dependencies.py::test_every_direct_dependency_says_why_it_is_here",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
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
        met(
            "14.3, 14.4",
            "No debugging in production; headers are strict.",
            "DEBUG alone does not start; a policy without inline scripts, nosniff, no frames, HSTS,"
            " a referrer for ourselves alone.",
            "explorer/test_settings.py::test_it_refuses_to_start_and_says_what_to_set",
            "explorer/test_serve.py::test_production",
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
        met(
            "14.5",
            "Methods that are not meant are refused and logged; Origin opens nothing.",
            "Each refusal has its line. CORS opens the API without cookies, and can be closed.",
            "explorer/test_api_answers.py::test_another_method_is_told_what_is_taken",
            "explorer/test_request_log.py::test_a_request_is_logged_once_with_its_id",
            "explorer/test_api_answers.py::test_pages_are_for_their_own_origin",
            "explorer/test_api_answers.py::test_an_operator_may_keep_other_origins_out",
        ),
    ),
)
