"""ASVS, chapters 5 to 9: what comes in, what is kept, and what is told."""

from explorer.security.rows import Chapter, by_design, met, not_met, not_ours

INPUT = Chapter(
    "V5 Validation",
    (
        met(
            "5.1",
            "What has fields is checked against what is allowed, and nothing else of it is taken "
            "over.",
            "A body is read field by field; each refusal names its place. The description of the "
            "API is held against the service by random requests.",
            "queries/api/test_surface.py::test_every_answer_is_described",
            "queries/api/test_any_request.py::test_any_change_of_a_right_batch",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
        ),
        not_met(
            "5.1.1, 5.1.3",
            "What is sent twice is noticed, and of all that is sent nothing unknown passes.",
            "A key twice in the API's JSON is refused. Of a parameter of an address that is sent "
            "twice the last counts, as of a key in the JSON of sign-in; unknown parameters are "
            "passed over, and so are unknown fields at the top of a batch, with a warning.",
            "queries/schema/test_strict_json.py::test_what_is_refused",
            "queries/schema/test_batch_schema.py::test_unknown_fields_at_the_top_are_ignored_with_one_warning",
        ),
        met(
            "5.1.5",
            "Redirects lead to our own pages.",
            "After sign-in to a page of this site, or to the dashboard.",
            "accounts/test_sign_in.py::test_it_leads_to_a_page_of_ours",
        ),
        not_met(
            "5.2.6, 12.6",
            "The server sends nothing for a stranger but to places and ports on a list.",
            "There is no list: a webhook goes to any public host and port that a client names, "
            "over http too. Nothing goes inside the service's own network: the name is looked up "
            "once, each of its addresses must be public (but with WEBHOOKS_TO_PRIVATE), the "
            "connection goes to that very address, and redirects are not followed.",
            "queries/test_webhooks.py::test_what_is_not_public_is_not_reached",
            "queries/test_webhooks.py::test_one_private_address_among_public_ones_is_enough",
            "queries/test_webhooks.py::test_the_connection_goes_to_the_address_that_was_looked_at",
        ),
        met(
            "5.2, 5.3.1 to 5.3.3",
            "What is shown is escaped for where it stands; no script is injected.",
            "Templates escape; the policy lets no inline script run. Cells of files are never "
            "formulas.",
            "explorer/test_escaping.py::test_no_template_switches_escaping_off",
            "explorer/test_escaping.py::test_what_is_called_safe_was_escaped_or_is_our_own_words",
            "explorer/test_search.py::test_hostile_texts_are_shown_as_texts",
            "explorer/test_dashboard_page.py::test_the_log_tells_of_each_webhook_and_its_attempts",
            "explorer/test_fact_files.py::test_no_cell_is_a_formula",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
            "accounts/test_wallets_in_the_browser.py::test_a_picture_with_a_script_is_only_a_picture",
        ),
        met(
            "5.2.4, 5.3.6, 5.5.4",
            "No text that was sent is run as code, and JSON is read by a parser.",
            "The linter refuses eval and exec in Python. In browsers the policy does, htmx's own "
            "is off, and scripts read JSON by the browser's parser.",
            "test_linted.py::test_weak_cryptography_and_text_as_code_are_refused",
            "explorer/test_serve.py::test_production",
            "explorer/test_pages.py::test_the_policy_lets_nothing_in_that_is_not_ours",
        ),
        met(
            "5.3.4, 5.3.5, 5.3.7 to 5.3.10",
            "Databases, systems and files are asked with parameters, never with joined text.",
            "The ORM, and SQL of our own in indexes, rate_limits, patience, query_rows, "
            "waiting, reading/batches, durable, clock, health and migrate, made of constants, "
            "numbers and names of our columns. The linter refuses joined SQL, and a test has a "
            "list of what each of these joins. What a stranger sends is a parameter; it calls no "
            "shell, names no file and is never read as XML.",
            "test_own_sql.py::test_own_sql_is_where_it_is_named_and_joins_what_is_named",
            "explorer/test_statements.py::test_what_is_sent_is_in_no_statement",
            "queries/api/test_any_request.py::test_any_address_method_parameter_and_header",
        ),
        met(
            "5.5",
            "Nothing is made of untrusted text but plain values.",
            "JSON alone; no pickle, no XML, no YAML. The API's is read by one strict reader, with "
            "bounds of size, depth and numbers, and no key twice; that of sign-in, two texts, by "
            "Python's own, with a bound of size.",
            "queries/schema/test_strict_json.py::test_what_is_refused",
            "queries/schema/test_strict_json.py::test_any_bytes_are_read_or_refused",
        ),
        met(
            "5.4",
            "Memory, sums and format strings are safe.",
            "The service is Python, and its format strings are its own. The contracts' assembly "
            "and unchecked sums are tried at random against a second implementation.",
            "queries/contracts/test_differential.py::test_all_agree_on_every_value",
            "queries/contracts/test_reader_is_the_contracts_mirror.py::test_both_compute_one_root_or_both_refuse",
            "queries/contracts/test_no_untrue_fact.py::test_no_sequence_of_calls_makes_an_untrue_fact",
        ),
    ),
)
CRYPTOGRAPHY = Chapter(
    "V6 Cryptography",
    (
        met(
            "6.2.1, 6.2.3, 6.2.6",
            "Ciphers are set right, fail safely, and what is for once is used once.",
            "One cipher is met: a keystore's, AES-128 in counter mode, as wallets write it. It is "
            "opened after its MAC was compared, and whatever is wrong with it is one sentence. "
            "Nothing is encrypted here. Sign-in's nonces are spent by one statement; those of "
            "signatures follow from key and message (RFC 6979).",
            "queries/chain/test_signer.py::test_a_keystore_is_opened",
            "queries/chain/test_signer.py::test_what_cannot_be_opened_is_told",
            "accounts/test_sign_in.py::test_a_hundred_sign_ins_with_one_nonce_are_one_session",
        ),
        met(
            "6.2, 6.3",
            "Known algorithms, from libraries, and no weak ones; random numbers from the system.",
            "HMAC-SHA256, SHA-256, BLAKE2b for the digests of sessions, BLAKE2s for marks of what "
            "a page shows, PBKDF2 and scrypt, secp256k1 and keccak, of libraries; Python's own "
            "secrets. MD5 is in the names of static files alone, which Django makes with it. In "
            "make lint, Ruff's rules for security refuse weak digests and other random numbers.",
            "test_linted.py::test_weak_cryptography_and_text_as_code_are_refused",
            "test_linted.py::test_where_the_linter_is_told_to_look_away_no_secret_is_made",
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
            "7.1.2",
            "No log holds what else is nobody's business.",
            "A request's line has its path with the parameters, so also which address was looked "
            "up. Who asked, and from where, it has not.",
            "accounts/test_who_asks_in_logs.py::test_no_line_tells_who_asked_or_from_where",
        ),
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
        met(
            "7.4.2, 7.4.3",
            "Faults are expected everywhere, and a last handler takes those that were not.",
            "Errors are one tree, each with its sentence. What is left is taken by Django's last "
            "handler, by that of the gate in front of it where an answer breaks off, and in a "
            "prover by one around each piece of work, which is then looked at again; the last has "
            "no test.",
            "explorer/test_pages.py::test_a_fault_of_ours_is_our_page",
            "explorer/test_gate.py::test_an_answer_that_breaks_off_is_none",
        ),
    ),
)
DATA = Chapter(
    "V8 and V9 Data and its ways",
    (
        met(
            "8.1, 8.2",
            "Private answers are kept in no cache, and little is kept in the browser.",
            "no-store on the API's answers and refusals, its description aside, on each page of an "
            "account and on operators' pages; scripts store nothing.",
            "queries/api/test_openapi.py::test_no_answer_is_kept_in_a_cache",
            "explorer/test_api_answers.py::test_another_method_is_told_what_is_taken",
            "explorer/test_every_address.py::test_what_is_somebodys_is_for_them_alone_and_kept_in_no_cache",
        ),
        met(
            "8.1.2",
            "Copies that the server keeps for a while are safe, and go.",
            "A new database that is a file is for its user alone. Long answers wait for their "
            "readers in files without a name, which end with the answer.",
            "explorer/test_private_file.py::test_the_file_and_those_beside_it_are_for_its_user_alone",
            "explorer/test_gate.py::test_large_answers_wait_for_their_readers_up_to_a_bound",
        ),
        by_design(
            "8.1.3",
            "Requests have few parameters, hidden fields, headers and cookies.",
            "Three cookies, and in forms what each needs: its token, a key's version, and of a new "
            "batch what was typed and its Idempotency-Key.",
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
            "Nobody is asked, who looked is not written down, and Python cannot wipe memory. Kept "
            "are an address, or an operator's name and password's hash; keys' names and use; "
            "browsers that are signed in, and when they were seen; batches, with webhooks and "
            "their headers; what operators did; and for a day or so the networks that tried to "
            "sign in, spoke for a chain or asked a registry whether a fact stands. Sessions that "
            "have ended, counts that stand still and old revoked keys go by themselves, where "
            "others come; the rest stays.",
            "accounts/test_sessions.py::test_one_that_has_ended_is_not_listed_and_a_sign_in_forgets_it",
            "accounts/test_api_keys.py::test_of_revoked_keys_the_newest_are_kept_with_their_use",
        ),
        not_met(
            "8.3.2",
            "People can export and delete what is kept of them.",
            "Lists and facts can be had as JSON. Deleting an account is the operator's, by hand: "
            "what was proven stays on chain for ever.",
        ),
        not_met(
            "9.1.1",
            "All who ask come over TLS, without exception.",
            "A program that asks in plain http is refused, since its key was readable, and people "
            "are sent on; HSTS for people. But probes and /metrics are answered over plain http, "
            "and METRICS_TOKEN comes with the latter.",
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
        not_met(
            "9.2.1, 9.2.3",
            "Connections to other services check certificates.",
            "Nodes, webhooks, and brokers by amqps:// or rediss:// are told nothing before theirs "
            "is one that the machine trusts, for the name that was asked for. A database's is "
            "checked for both with sslmode=verify-full alone.",
            "queries/test_certificates.py::test_who_shows_none_that_can_be_trusted_is_told_nothing",
            "queries/test_certificates.py::test_who_shows_a_trusted_certificate_is_told",
        ),
        not_met(
            "1.9, 9.2.2",
            "Inner connections are encrypted as well, and each side proves who it is.",
            "Between proxy and server, and in compose.yaml to database and broker, is plain text: "
            "keep them on one machine or a private network. Elsewhere sslmode=verify-full and "
            "amqps:// or rediss:// are for whoever runs them to name. A node or a webhook that is "
            "named with http:// is asked in plain text.",
        ),
    ),
)
