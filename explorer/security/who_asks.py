"""ASVS, chapters 2 to 4: who asks, and who may do what."""

from explorer.security.rows import Chapter, by_design, met, not_met, not_ours

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
            "2.4.1 to 2.4.4",
            "Passwords are stored so that whoever steals them learns little.",
            "An operator's, by Django's PBKDF2 with a salt of its own and its iterations.",
            "accounts/test_operators.py::test_a_password_is_kept_as_slow_hashes_are",
        ),
        not_met(
            "2.4.5",
            "A password's hash goes through another round, with a salt that is kept elsewhere.",
            "Django's does not, so that whoever steals the database may try passwords on it.",
        ),
        not_ours(
            "2.2.2, 2.3, 2.5 to 2.8",
            "Mails, text messages, recovery, lists of codes, codes for once.",
            "There are none: nothing is mailed or reset, and a lost wallet is lost. Who may run "
            "manage.py on the server gives an operator a new password (changepassword).",
        ),
        by_design(
            "2.5.4",
            "There are no shared or default accounts.",
            "No account is made by installing. The demo's wallet is refused but in development.",
        ),
        not_met(
            "2.3.2",
            "People can enrol and use devices of their own, such as FIDO tokens.",
            "A hardware wallet signs in, as every wallet does. FIDO keys do not.",
        ),
        not_met(
            "2.2.1",
            "Guessing is slowed down, to a hundred failures an hour for an account.",
            "Attempts are counted by browser and by network, never by account, so that nobody can "
            "lock another out. An operator's password may be tried 30 times in ten minutes from "
            "each network.",
            "accounts/test_sign_in.py::test_attempts_are_limited_for_a_browser",
            "accounts/test_sign_in.py::test_nobody_can_lock_out_a_strangers_wallet",
            "accounts/test_operators.py::test_passwords_are_tried_so_often_and_no_more",
        ),
        met(
            "2.9.1, 2.9.2",
            "Challenges to a wallet are random and new, and what they are checked with is safe.",
            "EIP-4361: the message names our origin, chain and a nonce of this browser, good for "
            "five minutes and once, so that it is worth nothing elsewhere or again. What it is "
            "checked with, an address, is no secret.",
            "accounts/test_forged_sign_ins.py::test_it_is_refused_with_its_reason",
            "accounts/test_sign_in.py::test_a_hundred_sign_ins_with_one_nonce_are_one_session",
            "accounts/test_sign_in.py::test_a_message_is_good_for_five_minutes_and_its_nonce_cannot_be_guessed",
        ),
        not_met(
            "2.9.3",
            "Sign-in rests on approved algorithms alone.",
            "Wallets sign with secp256k1 over keccak, the chains' own: keccak as they have it is "
            "on no list of NIST's.",
            "queries/proving/test_keccak.py::test_is_keccak_and_not_the_later_standard",
        ),
        not_met(
            "2.2.3, 2.5.5",
            "One is told of a sign-in or a change to credentials.",
            "No address of a person is kept. Browsers that are signed in and the use of each key "
            "are on the dashboard.",
            "accounts/test_sessions.py::test_they_are_listed",
        ),
        not_met(
            "4.3.1",
            "Operators sign in with more than one factor.",
            "A wallet is one factor, and a password another alone. A contract wallet of several "
            "signers, named in OPERATORS, is the way to require more.",
            "accounts/test_operators.py::test_a_wallet_that_the_settings_name_comes_in_until_they_do_not",
        ),
        not_met(
            "2.10.1, 2.10.3",
            "Parts know each other by more than passwords that stay, kept where nobody finds them.",
            "Database and broker have passwords that stay until somebody changes them, in files "
            "that only their user can read, as plain text.",
        ),
        met(
            "2.10.2, 2.10.4",
            "No program's password is one that everyone knows, or in the source.",
            "The README's lines make those of compose.yaml. An API key has 160 bits, and the "
            "database holds a digest of it.",
            "test_containers.py::test_no_password_is_one_that_everyone_knows",
            "test_committed_secrets.py::test_no_commit_held_one",
            "accounts/test_api_keys.py::test_no_column_of_the_database_holds_a_key_or_its_secret",
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
            "3.1.1",
            "No address holds what a session is known by.",
            "Its cookie alone does. The form that ends another one names it by its digest, with "
            "which nobody signs in.",
            "accounts/test_sessions.py::test_the_database_does_not_hold_what_the_cookie_does",
        ),
        met(
            "3.2",
            "A session is new at sign-in, random, and stored safely.",
            "The database holds a digest of what the cookie holds. The browser holds it in that "
            "cookie alone, which scripts cannot read.",
            "explorer/test_resolved_settings.py::test_without_a_word_they_are_safe",
            "accounts/test_sign_in.py::test_the_session_and_the_token_change_at_sign_in",
            "accounts/test_sessions.py::test_the_database_does_not_hold_what_the_cookie_does",
        ),
        met(
            "3.3",
            "It ends by signing out, elsewhere too, after a time, and with a new password.",
            "Signed out here or everywhere; at the latest 90 days after sign-in.",
            "accounts/test_operators.py::test_a_new_password_ends_the_other_sessions",
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
            "In production all four, of each of the three: the session's, that of the forms' "
            "tokens, and that of what a page tells once.",
            "explorer/test_resolved_settings.py::test_without_a_word_they_are_safe",
            "explorer/test_message_cookie.py::test_it_is_as_safe_as_the_sessions_and_goes_when_it_was_told",
        ),
        not_ours(
            "3.4.5",
            "Where other applications are at the same host, cookies are bound to a path.",
            "The service has a host to itself: SITE_URL takes no path, and __Host- asks for /.",
        ),
        not_met(
            "1.6.4, 3.5",
            "Programs use tokens that end, rather than keys that do not.",
            "Existing clients know keys alone, and a key opens its account's lists and webhook "
            "secret. A key can be rotated and revoked at once, and has "
            "its own limits; there are no other tokens.",
            "accounts/test_api_keys.py::test_revoked_it_is_refused_at_once_with_both_secrets",
        ),
        met(
            "3.7.1",
            "What matters needs a living session.",
            "Each form that changes something of an account asks for one.",
            "explorer/test_every_address.py::test_only_a_living_session_changes_something",
            "accounts/test_sessions.py::test_a_form_whose_session_has_ended_says_that_nothing_was_changed",
        ),
        not_met(
            "3.3.4, 4.3.3",
            "What matters most is confirmed by signing in anew.",
            "A key can be shown and rotated, and other sessions ended, by whoever holds one.",
            "accounts/test_sessions.py::test_one_can_end_another_of_ones_own",
        ),
    ),
)
ACCESS = Chapter(
    "V4 Access control",
    (
        met(
            "4.1, 4.2.1",
            "The server decides, lets nobody in where it fails, and nobody reaches another's "
            "things.",
            "Keys, sessions, lists, webhooks and replays are sought among the owner's own. Whoever "
            "knows a batch's id may read its status: what it proves is public by nature. Where a "
            "limit cannot be counted, nobody is let in.",
            "accounts/test_api_keys.py::test_a_strangers_key_cannot_be_touched",
            "queries/pipeline/test_own_webhooks.py::test_nobody_sends_anothers_again",
            "accounts/test_operators.py::test_a_visitor_and_a_stranger_are_kept_out",
            "accounts/test_rate_limits.py::test_where_it_cannot_be_counted_nobody_is_let_in",
        ),
        met(
            "4.2.2",
            "Forms cannot be sent from other sites.",
            "Each has a token; the API counts no cookie.",
            "explorer/test_every_address.py::test_no_form_is_taken_without_its_token",
            "queries/api/test_submitting.py::test_a_cookie_is_no_key",
        ),
        met(
            "4.3.2",
            "Folders are not listed, and no file is served but those that are meant to be.",
            "Files are served by their names alone, of those that collectstatic gathered.",
            "explorer/test_serve.py::test_production",
        ),
    ),
)
