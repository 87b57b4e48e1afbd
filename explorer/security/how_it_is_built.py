"""ASVS, chapter 1: how it is built."""

from explorer.security.rows import Chapter, by_design, met, not_met, not_ours

DESIGN = Chapter(
    "V1 Architecture",
    (
        by_design(
            "1.1.4, 1.1.5, 1.11.1",
            "Parts, their boundaries and what goes between them are known and told.",
            "Above, at /docs/operating, and in the first lines of each module.",
        ),
        met(
            "1.1.6",
            "Controls are few, and each is in one place.",
            "That one module reads the environment and one writes statuses is a rule with a test; "
            "that one reads the API's JSON and one checks keys is by design.",
            "test_layers.py::test_the_code_keeps_every_rule",
        ),
        not_met(
            "1.1.1, 1.1.3, 1.1.7",
            "Security has its place in each step of development, in each feature that is asked "
            "for, and on a checklist for who writes code.",
            "None of these is written down. What there is instead are rules of the code, attacks "
            "that are tested, and this walk.",
            "test_layers.py::test_the_code_keeps_every_rule",
        ),
        not_met(
            "1.1.2",
            "A threat model is kept for each change.",
            "What is trusted is told below and in the contracts' notes, each point with the test "
            "that attacks it; there is no process that revisits it with every change.",
            "queries/contracts/test_soundness_notes.py::test_each_invariant_names_what_attacks_it",
        ),
        not_met(
            "1.2.1",
            "Parts run under accounts of the system that may do little, each under its own.",
            "In containers all of ours run as one user, 10001, which is not root, and without "
            "capabilities; database and broker as their images have it. Elsewhere nothing makes a "
            "user: whoever runs them chooses.",
            "test_containers.py::test_it_does_not_run_as_root",
        ),
        not_met(
            "1.2.2",
            "Parts prove to each other who they are, and each may do the least that it needs.",
            "Server and provers share a role of the database, which owns all of it; in "
            "compose.yaml it is PostgreSQL's superuser. The proxy is known by its place alone. "
            "The key that pays is the provers' alone.",
            "test_containers.py::test_only_the_prover_holds_the_key_that_pays",
        ),
        not_met(
            "1.2.3",
            "Sign-in is watched well enough to find that an account is abused.",
            "It is limited, and each request has its line, but no line says who signed in or "
            "failed to: see 7.1.3.",
            "accounts/test_sign_in.py::test_attempts_are_limited_for_a_network",
        ),
        not_met(
            "1.2.4",
            "No way in is weaker than another.",
            "People sign in with a wallet, programs with a key alone, and an operator whom "
            "createsuperuser made with a password alone.",
            "accounts/test_operators.py::test_one_whom_createsuperuser_made_comes_in",
        ),
        not_met(
            "1.4.4",
            "All requests go through one gate that decides who may come in.",
            "Each view names by itself who may: by an API key, by a session in one of two ways, or "
            "as an operator; one looks at the session itself. No gate stands before all of them, "
            "so a view that named nobody would be open. Tests ask the API's without a key.",
            "queries/api/test_surface.py::test_every_answer_is_described",
        ),
        met(
            "1.4.1, 1.4.5",
            "The server alone decides who may do what, by whose a thing is.",
            "By an API key, by a session, or as an operator; there is no role beside these.",
            "accounts/test_api_keys.py::test_a_strangers_key_cannot_be_touched",
            "explorer/test_every_address.py::test_what_is_somebodys_is_for_them_alone_and_kept_in_no_cache",
            "explorer/test_every_address.py::test_only_a_living_session_changes_something",
            "accounts/test_operators.py::test_a_visitor_and_a_stranger_are_kept_out",
            "queries/api/test_submitting.py::test_a_cookie_is_no_key",
        ),
        not_met(
            "1.5.1",
            "What comes in and goes out is defined by its kind, and by the laws on it.",
            "Kinds are defined by the API's description. Of laws nothing is said: see 8.3.3.",
            "queries/api/test_surface.py::test_every_answer_is_described",
        ),
        met(
            "1.5.2 to 1.5.4",
            "What strangers send is never made into objects, is checked by the server, and is "
            "escaped where it is shown.",
            "JSON alone, read field by field; templates escape.",
            "queries/schema/test_strict_json.py::test_what_is_refused",
            "queries/api/test_any_request.py::test_any_change_of_a_right_batch",
            "explorer/test_search.py::test_hostile_texts_are_shown_as_texts",
        ),
        not_met(
            "1.6.1",
            "A policy says how keys are made, kept, changed and given up, by a standard.",
            "/docs/operating says it of each key. It was held against no standard, such as NIST "
            "SP 800-57, and nothing makes anyone change one.",
        ),
        not_met(
            "1.6.3",
            "All keys and passwords can be changed.",
            "The key of an attester cannot: a registry's signers stay, and another one is another "
            "registry. API keys are rotated; FORMER_SECRET_KEYS lets SECRET_KEY change; every "
            "other secret comes from the environment or a file. Nothing is stored encrypted with "
            "one.",
            "accounts/test_api_keys.py::test_rotated_with_grace_both_work_until_it_ends",
            "explorer/test_resolved_settings.py::test_each_variable_changes_what_it_should_and_nothing_else",
            "explorer/test_environment.py::test_a_secret_is_read_from_its_file",
        ),
        not_met(
            "1.6.2, 6.4",
            "Keys live in a vault or a module that never hands them out.",
            "The prover holds the key that pays in memory. It can spend no more than lies there: "
            "no contract gives it any right. An outside signer is not supported.",
        ),
        met(
            "1.7.1",
            "Everything logs in one way.",
            "One form for server and provers, as JSON with times in UTC, also of what Python says "
            "by itself. What a command tells the person who calls it is no log.",
            "explorer/test_logs.py::test_a_json_line_is_one_object",
            "explorer/test_serve.py::test_every_line_of_a_server_that_fails_is_json",
            "queries/engines/test_lines_of_provers.py::test_each_line_of_a_prover_is_json",
        ),
        not_ours(
            "7.3.4",
            "Clocks are set right, and in one zone.",
            "Lines tell the time in UTC. Setting the clock is the machine's, and nothing here "
            "checks it.",
            "explorer/test_logs.py::test_a_json_line_is_one_object",
        ),
        not_ours(
            "1.7.2, 7.3.3",
            "Logs are sent elsewhere safely, and kept from being changed.",
            "They go to standard error; whoever runs it collects them.",
        ),
        not_met(
            "1.8, 8.3.4",
            "What is sensitive is sorted into levels, each with what it needs.",
            "There is no such list. Secrets are those that a test looks for everywhere; all else "
            "of a batch is public by nature, but its webhook and who asked.",
            "test_secrets.py::test_no_secret_is_anywhere",
        ),
        not_met(
            "1.10.1",
            "Changes are traced to people and tickets.",
            "Each commit has an author and says why; it names no ticket. Who may change what is of "
            "where the repository is kept.",
        ),
        not_met(
            "1.14.1, 1.14.5",
            "Parts that are trusted differently run apart, each shut in, on networks of their own.",
            "The server needs no signer's key, and stands behind a proxy; in containers each "
            "part of ours has a file system that cannot be written to. Database and broker are as "
            "their images are, and all of them share one network.",
            "test_containers.py::test_only_the_prover_holds_the_key_that_pays",
            "test_containers.py::test_it_does_not_run_as_root",
        ),
        not_ours(
            "1.14.2, 1.14.6",
            "Programs on devices elsewhere, and plugins of browsers.",
            "There are none.",
        ),
        not_met(
            "1.14.4",
            "What is deployed is built and tried by the build itself.",
            "CI runs the commands of the image and of compose.yaml, but builds no image and "
            "starts no container.",
            "test_containers.py::test_ci_installs_by_the_same_hashes_and_runs_the_same_commands",
        ),
    ),
)
