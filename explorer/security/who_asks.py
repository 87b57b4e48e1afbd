"""ASVS, chapters 1 to 4: how it is built, and who may do what."""

from explorer.security.rows import Chapter, met, not_met, not_ours

DESIGN = Chapter(
    "V1 Architecture",
    (
        met(
            "1.1, 1.2, 1.4, 1.5, 1.11.1",
            "Boundaries and controls are known, and each control is in one place.",
            "Who may import whom is a rule; one module checks keys, one reads JSON, one reads the "
            "environment, one writes statuses.",
            "test_layers.py::test_the_code_keeps_every_rule",
        ),
        not_met(
            "1.1.2",
            "A threat model is kept for each change.",
            "What is trusted is told below and in the contracts' notes, each point with the test "
            "that attacks it; there is no process that revisits it with every change.",
            "queries/contracts/test_soundness_notes.py::test_each_invariant_names_what_attacks_it",
        ),
        met(
            "1.6",
            "Secrets are kept apart from code and data, and can be changed.",
            "Each comes from the environment or a file of its own; API keys and webhook secrets "
            "are derived and in no database; FORMER_SECRET_KEYS lets SECRET_KEY change.",
            "test_secrets.py::test_no_secret_is_anywhere",
            "explorer/test_environment.py::test_a_secret_is_read_from_its_file",
        ),
        not_met(
            "1.6.2, 6.4",
            "Keys live in a vault or a module that never hands them out.",
            "The prover holds the key that pays in memory. It can spend no more than lies there: "
            "no contract gives it any right. An outside signer is not supported.",
        ),
        met(
            "1.7.1, 7.3.4",
            "Everything logs in one way, by one clock.",
            "One form for all programs, as JSON with times in UTC. Keeping clocks right is the "
            "machine's.",
            "explorer/test_logs.py::test_a_json_line_is_one_object",
        ),
        not_ours(
            "1.7.2, 7.3.3",
            "Logs are sent elsewhere safely, and kept from being changed.",
            "They go to standard output; whoever runs it collects them.",
        ),
        not_met(
            "1.8, 8.3.4",
            "What is sensitive is sorted into levels, each with what it needs.",
            "There is no such list. Secrets are those that a test looks for everywhere; all else "
            "of a batch is public by nature, but its webhook and who asked.",
            "test_secrets.py::test_no_secret_is_anywhere",
        ),
        not_ours(
            "1.10",
            "Changes are traced to people and tickets.",
            "That is of where the repository is kept.",
        ),
        met(
            "1.14",
            "Parts run apart, with the least rights.",
            "The server needs no signer's key; in containers none runs as root, on a file system "
            "that cannot be written to.",
            "test_containers.py::test_only_the_prover_holds_the_key_that_pays",
            "test_containers.py::test_it_does_not_run_as_root",
        ),
    ),
)
SIGN_IN = Chapter(
    "V2 Authentication",
    (
        not_met(
            "2.1",
            "Passwords are long and checked; they can be shown, and their strength is.",
            "People sign in with a wallet and have none. An operator whom createsuperuser makes "
            "has one of 12 characters or more that is not common; a strength meter, a button that "
            "shows it and a longest length are missing.",
            "accounts/test_operators.py::test_a_short_password_is_refused",
        ),
        met(
            "2.4",
            "Passwords are stored so that whoever steals them learns little.",
            "An operator's, by Django's PBKDF2 with a salt of its own and its iterations.",
            "accounts/test_operators.py::test_a_password_is_kept_as_slow_hashes_are",
        ),
        not_ours(
            "2.2.2, 2.3, 2.5 to 2.7",
            "Mails, text messages, recovery, lists of codes.",
            "There are none: nothing is mailed or reset, and a lost wallet is lost. Another "
            "operator gives an operator a new password.",
        ),
        met(
            "2.2.1",
            "Guessing is slowed down.",
            "Attempts are counted by browser and by network, never by account, so that nobody can "
            "lock another out; operators' passwords have a limit too.",
            "accounts/test_sign_in.py::test_attempts_are_limited_for_a_browser",
            "accounts/test_sign_in.py::test_nobody_can_lock_out_a_strangers_wallet",
            "accounts/test_operators.py::test_passwords_are_tried_so_often_and_no_more",
        ),
        met(
            "2.2.4, 2.8, 2.9",
            "Sign-in withstands phishing and replay; challenges are random and short-lived.",
            "EIP-4361: the message names our origin, chain and a nonce of this browser, good for "
            "five minutes and once.",
            "accounts/test_forged_sign_ins.py::test_it_is_refused_with_its_reason",
            "accounts/test_sign_in.py::test_a_hundred_sign_ins_with_one_nonce_are_one_session",
            "accounts/test_sign_in.py::test_a_message_is_good_for_five_minutes_and_its_nonce_cannot_be_guessed",
        ),
        not_met(
            "2.2.3, 2.5.5",
            "One is told of a sign-in or a change to credentials.",
            "No address of a person is kept. Browsers that are signed in and the use of each key "
            "are on the dashboard.",
            "accounts/test_sessions.py::test_they_are_listed",
        ),
        not_met(
            "2.2.7, 4.3.1",
            "Operators sign in with more than one factor.",
            "A wallet is one factor, and a password another alone. A contract wallet of several "
            "signers, named in OPERATORS, is the way to require more.",
            "accounts/test_operators.py::test_a_wallet_that_the_settings_name_comes_in_until_they_do_not",
        ),
        met(
            "2.10.1 to 2.10.4",
            "Programs' credentials are not plain passwords, and not in the source.",
            "An API key has 160 bits, is stored as a digest, compared in constant time, rotated "
            "with or without grace, and revoked at once.",
            "accounts/test_api_keys.py::test_no_column_of_the_database_holds_a_key_or_its_secret",
            "accounts/test_api_keys.py::test_revoked_it_is_refused_at_once_with_both_secrets",
            "accounts/test_key_lookup.py::test_how_much_of_a_secret_is_right_does_not_show_in_the_time",
        ),
        not_met(
            "8.3.1, 13.1.3",
            "No secret travels in an address.",
            "?apiKey= is taken because existing clients send it. Documents show the header, and "
            "our logs strike keys out; a proxy's logs may not.",
            "test_keys_in_documentation.py::test_no_example_puts_it_into_the_address",
            "accounts/test_keys_in_logs.py::test_a_key_is_struck_out",
        ),
    ),
)
SESSIONS = Chapter(
    "V3 Sessions",
    (
        met(
            "3.1, 3.2",
            "A session is new at sign-in, random, and stored safely.",
            "The database holds a digest of what the cookie holds.",
            "accounts/test_sign_in.py::test_the_session_and_the_token_change_at_sign_in",
            "accounts/test_sessions.py::test_the_database_does_not_hold_what_the_cookie_does",
        ),
        met(
            "3.3",
            "It ends by signing out, elsewhere too, and after a time.",
            "Signed out here or everywhere; at the latest 90 days after sign-in.",
            "accounts/test_sessions.py::test_signing_out_everywhere_ends_all_and_nobody_elses",
            "accounts/test_sessions.py::test_being_seen_keeps_a_session_for_90_days_after_the_sign_in_and_no_longer",
        ),
        not_met(
            "3.3.2",
            "One signs in again after 12 hours, or 30 minutes of doing nothing.",
            "A browser stays signed in for up to 90 days: what it can do is make keys and batches, "
            "and nobody's money is here. Operators should sign out.",
        ),
        met(
            "3.4",
            "Cookies are Secure, HttpOnly, SameSite and prefixed __Host-.",
            "In production all four.",
            "explorer/test_resolved_settings.py::test_without_a_word_they_are_safe",
        ),
        not_met(
            "3.5",
            "Programs use tokens that end, rather than keys that do not.",
            "Existing clients know keys alone. A key can be rotated and revoked at once, and has "
            "its own limits; there are no other tokens.",
            "accounts/test_api_keys.py::test_revoked_it_is_refused_at_once_with_both_secrets",
        ),
        not_met(
            "3.7.1, 4.3.3",
            "What matters most is confirmed by signing in anew.",
            "A key can be shown and rotated by whoever holds the session.",
        ),
    ),
)
ACCESS = Chapter(
    "V4 Access control",
    (
        met(
            "4.1, 4.2.1",
            "The server decides, denies by default, and nobody reaches another's things.",
            "Keys, sessions, lists, webhooks and replays are sought among the owner's own. Whoever "
            "knows a batch's id may read its status: what it proves is public by nature.",
            "accounts/test_api_keys.py::test_a_strangers_key_cannot_be_touched",
            "queries/pipeline/test_own_webhooks.py::test_nobody_sends_anothers_again",
            "queries/api/test_surface.py::test_every_answer_is_described",
        ),
        met(
            "4.2.2",
            "Forms cannot be sent from other sites.",
            "Each has a token; the API counts no cookie.",
            "accounts/test_forged_sign_ins.py::test_a_form_of_another_site_is_refused",
            "explorer/test_pages.py::test_a_form_from_elsewhere_is_our_page",
        ),
        met(
            "4.3",
            "Administration is apart, and folders are not listed.",
            "/admin/ lets in operators alone, shows no secret, and writes down what they do.",
            "accounts/test_operators.py::test_a_visitor_and_a_stranger_are_kept_out",
            "accounts/test_operators.py::test_what_an_operator_does_is_written_down",
        ),
    ),
)
