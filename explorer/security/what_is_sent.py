"""ASVS, chapters 5 to 9: what comes in, what is kept, and what is told."""

from explorer.security.rows import Chapter, met, not_met, not_ours

INPUT = Chapter(
    "V5 Validation",
    (
        met(
            "5.1",
            "All input is checked against what is allowed, and nothing else of it is taken over.",
            "A batch is read field by field; each refusal names its place. The description of the "
            "API is held against the service by random requests.",
            "queries/api/test_surface.py::test_every_answer_is_described",
            "queries/api/test_any_request.py::test_any_change_of_a_right_batch",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
        ),
        met(
            "5.1.5",
            "Redirects lead to our own pages.",
            "After sign-in to a page of this site, or to the dashboard.",
            "accounts/test_sign_in.py::test_it_leads_to_a_page_of_ours",
        ),
        met(
            "5.2.6, 12.6",
            "The server fetches nothing for a stranger inside its own network.",
            "A webhook's name is looked up once, each of its addresses must be public, the "
            "connection goes to that very address, and redirects are not followed.",
            "queries/test_webhooks.py::test_what_is_not_public_is_not_reached",
            "queries/test_webhooks.py::test_the_connection_goes_to_the_address_that_was_looked_at",
        ),
        met(
            "5.2, 5.3.1 to 5.3.3",
            "What is shown is escaped for where it stands; no script is injected.",
            "Templates escape; the policy lets no inline script run. Cells of files are never "
            "formulas.",
            "explorer/test_search.py::test_hostile_texts_are_shown_as_texts",
            "explorer/test_fact_files.py::test_no_cell_is_a_formula",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
            "accounts/test_wallets_in_the_browser.py::test_a_picture_with_a_script_is_only_a_picture",
        ),
        met(
            "5.3.4 to 5.3.10",
            "Databases, systems and files are asked with parameters, never with joined text.",
            "The ORM, and SQL of our own in rate_limits, patience, query_rows, waiting, "
            "reading/batches, durable, clock, health and migrate, made of constants, numbers and "
            "names of our columns. The linter refuses joined SQL, and a test has a list of what "
            "each of these joins. What a stranger sends is a parameter; it calls no shell, names "
            "no file and is never read as XML.",
            "test_own_sql.py::test_own_sql_is_where_it_is_named_and_joins_what_is_named",
            "explorer/test_statements.py::test_what_is_sent_is_in_no_statement",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
        ),
        met(
            "5.5",
            "Nothing is made of untrusted text but plain values, by one strict reader.",
            "JSON alone, with bounds of size, depth and numbers, and no key twice; no pickle, no "
            "XML, no YAML.",
            "queries/schema/test_strict_json.py::test_what_is_refused",
            "queries/schema/test_strict_json.py::test_any_bytes_are_read_or_refused",
        ),
        not_ours("5.4", "Memory and strings of unmanaged code.", "It is Python."),
    ),
)
CRYPTOGRAPHY = Chapter(
    "V6 Cryptography",
    (
        met(
            "6.2, 6.3",
            "Known algorithms, from libraries; random numbers from the system.",
            "HMAC-SHA256, SHA-256, secp256k1 and keccak of libraries; Python's own secrets.",
            "queries/proving/test_keccak.py::test_is_keccak_and_not_the_later_standard",
            "accounts/test_sign_in.py::test_a_message_is_good_for_five_minutes_and_its_nonce_cannot_be_guessed",
        ),
        not_met(
            "6.2.4, 6.3.2",
            "Algorithms can be changed at any time, and random ids are UUIDs of version 4.",
            "The hashes and curves are the chains' own. Ids of batches are ULIDs: they begin with "
            "the time, end in 80 random bits, and open nothing that is private.",
        ),
        not_met(
            "6.1, 8.3.7",
            "What is private is encrypted where it lies.",
            "The database holds webhooks' addresses and headers as they were sent, because they "
            "must be sent again. Encrypt the database's disk.",
        ),
    ),
)
LOGS = Chapter(
    "V7 Errors and logs",
    (
        met(
            "7.1",
            "No log holds a secret.",
            "Keys are struck out where a line is formed; nodes' addresses are in no sentence.",
            "test_secrets.py::test_no_secret_is_anywhere",
            "explorer/test_logs.py::test_no_part_of_a_line_holds_a_key",
        ),
        not_met(
            "7.1.3, 7.1.4, 7.2",
            "Refused sign-ins and accesses are logged with when, what and who.",
            "Each request has one line with its status and an id. Who it was is not in it, because "
            "people's addresses are nobody's business; the proxy's log has them.",
            "explorer/test_request_log.py::test_a_request_is_logged_once_with_its_id",
        ),
        met(
            "7.3.1",
            "Nobody can forge a line.",
            "JSON, or escaped.",
            "explorer/test_logs.py::test_a_readable_line_writes_neither_to_the_terminal_nor_another_line",
        ),
        met(
            "7.4",
            "A fault tells nothing of the inside, only an id to ask about.",
            "One page and one JSON shape.",
            "explorer/test_pages.py::test_a_fault_of_ours_is_our_page",
            "explorer/test_api_answers.py::test_a_fault_is_told_with_the_requests_id",
        ),
    ),
)
DATA = Chapter(
    "V8 and V9 Data and its ways",
    (
        met(
            "8.1, 8.2",
            "Private answers are kept in no cache, and little is kept in the browser.",
            "no-store on the API's answers and refusals, its description aside, and on the "
            "dashboard; scripts store nothing.",
            "queries/api/test_openapi.py::test_no_answer_is_kept_in_a_cache",
            "explorer/test_api_answers.py::test_another_method_is_told_what_is_taken",
            "accounts/test_sign_in.py::test_the_dashboard_is_kept_in_no_cache",
        ),
        not_met(
            "8.1.4",
            "Abnormal numbers of requests are found, and alert somebody.",
            "A key's are bounded, and refused ones are in the log; no alert counts them.",
            "accounts/test_rate_limits.py::test_of_a_hundred_at_once_exactly_the_limit_pass",
        ),
        not_met(
            "8.2.3",
            "What was shown is gone from the browser when one signs out.",
            "Another window is told, and shows what it showed until it is loaded again.",
            "accounts/test_sessions.py::test_another_window_is_told_that_one_has_signed_out",
        ),
        not_met(
            "8.3.3, 8.3.5, 8.3.6, 8.3.8",
            "Of people's data: consent, who looked at it, when it is wiped and deleted.",
            "An address is all that is kept of somebody, and it says what it does with it nowhere "
            "but here. Nothing is deleted by itself, and Python cannot wipe memory.",
        ),
        not_met(
            "8.3.2",
            "People can export and delete what is kept of them.",
            "Lists and facts can be had as JSON. Deleting an account is the operator's, by hand: "
            "what was proven stays on chain for ever.",
        ),
        met(
            "9.1",
            "TLS everywhere; plain http is refused or sent on.",
            "A program that asks in plain http is refused, since its key was readable; HSTS for "
            "people.",
            "explorer/test_api_answers.py::test_plain_http_is_refused_to_programs_and_sends_people_on",
            "explorer/test_serve.py::test_production",
        ),
        not_ours(
            "9.1.2, 9.1.3",
            "Only newer versions of TLS, with strong ciphers.",
            "The proxy in front ends TLS, and chooses.",
        ),
        not_met(
            "9.2.4",
            "Certificates that were revoked are found.",
            "Python's libraries do not ask.",
        ),
        met(
            "9.2",
            "Connections to other services check certificates.",
            "Nodes and webhooks are told nothing before theirs is one that the machine trusts, for "
            "the name that was asked for.",
            "queries/test_certificates.py::test_who_shows_none_that_can_be_trusted_is_told_nothing",
            "queries/test_certificates.py::test_who_shows_a_trusted_certificate_is_told",
        ),
        not_met(
            "1.9, 9.2.2",
            "Inner connections are encrypted as well, and each side proves who it is.",
            "Between proxy and server, and in compose.yaml to database and broker, is plain text: "
            "keep them on one machine or a private network. Elsewhere sslmode=verify-full and "
            "amqps:// or rediss:// are for whoever runs them to name.",
        ),
    ),
)
