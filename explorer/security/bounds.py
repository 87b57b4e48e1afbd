"""What someone can do to be a burden to others, and what it costs at most."""

from explorer.security.rows import Bound

BOUNDS = (
    Bound(
        "Huge bodies",
        "Refused by their length alone: BATCH_BODY_BYTES for a batch, 2,000 bytes for an "
        "attestation, 20,000 for a form, but 1.5 MB for one of a new batch. What is longer than "
        "2.5 MB, and than BATCH_BODY_BYTES, is not waited for. Chunks, compression and forms with "
        "files are not read.",
        (
            "explorer/test_request_bodies.py::test_a_form_is_small_unless_it_is_a_new_batchs",
            "explorer/test_request_bodies.py::test_a_form_with_files_is_not_read",
            "explorer/test_request_bodies.py::test_the_api_reads_no_form",
            "explorer/test_gate.py::test_a_body_that_is_refused_unread_is_taken_and_kept_by_nobody",
            "explorer/test_request_bodies.py::test_a_server_answers_before_the_body_comes",
            "queries/api/test_bodies.py::test_a_body_that_is_too_large_is_not_read",
            "explorer/test_denial.py::test_bodies_as_deep_and_as_large_as_they_may_be",
        ),
    ),
    Bound(
        "Deep JSON, long numbers, many names",
        "One reader with bounds of depth and digits; its time grows with the length alone.",
        (
            "queries/schema/test_strict_json.py::test_a_large_body_takes_bounded_time",
            "queries/schema/test_strict_json.py::test_the_depth_of_a_body",
        ),
    ),
    Bound(
        "Forms, sign-in messages and headers that take long to read",
        "A new batch's form may have ten signs for each slot that a browser encodes, and 10,000 "
        "more, which are counted before it is read. Twice the slots of a batch are shown again, no "
        "more bytes than its request may have, and of these few that are long in HTML: 30,000 "
        "beside the slots. A message to sign in with is hardly longer than ours; of Content-Type "
        "and Accept 1,000 characters are read, and nothing beside a type but its weight: any "
        "charset would be looked up, and its name kept for ever. Where there are more than 4,000 "
        "of cookies, the shortest ones are read, 8,000 characters of them, and none that has more "
        "than 1,000. An operator's search has ten words.",
        (
            "explorer/test_request_bodies.py::test_a_new_batchs_form_that_takes_long_to_read_is_refused",
            "explorer/test_new_batch_page.py::test_what_would_be_shown_many_times_as_long_is_refused",
            "explorer/test_new_batch_page.py::test_a_page_is_a_few_times_as_long_as_the_most_that_a_request_may_have",
            "explorer/test_gate.py::test_of_many_cookies_those_that_are_long_are_left_out",
            "accounts/test_operators.py::test_a_search_of_more_words_than_anybody_types_finds_nothing_and_says_so",
            "explorer/test_denial.py::test_forms_messages_and_headers_that_take_long_to_read",
            "explorer/test_denial.py::test_forms_of_nobody_that_take_long_to_read",
            "explorer/test_new_batch_page.py::test_far_more_than_a_batch_is_refused_and_not_shown_again",
            "accounts/test_costly_messages.py::test_it_costs_little_more_than_ours",
            "explorer/test_gate.py::test_what_takes_the_square_of_its_length_to_read_is_cut",
            "explorer/test_gate.py::test_no_charset_that_a_client_makes_up_is_looked_up",
        ),
    ),
    Bound(
        "All that is asked for and kept",
        "FACTS_PER_DAY for an account; what many accounts have kept has no bound but the disk.",
        ("queries/test_facts_of_a_day.py::test_an_account_has_so_many_in_a_day",),
    ),
    Bound(
        "Slow headers",
        "Five seconds, and 32 kB, or a few times that where the rest comes in one piece.",
        (
            "explorer/test_serving_process.py::test_headers_have_five_seconds_to_come",
            "explorer/test_serving_process.py::test_headers_have_32_kb",
            "explorer/test_serving_process.py::test_half_a_request_does_not_hold_it_up",
        ),
    ),
    Bound(
        "Slow bodies",
        "Ten seconds for the whole of one, then 408; read without a thread. A process holds 32 MB "
        "of bodies; where more come, those that have been coming for longest are given up (503). "
        "One that is refused for its length is taken up to 16 MB and not kept; of chunks so many "
        "as come within two seconds.",
        (
            "explorer/test_slow_clients.py::test_many_slow_bodies_keep_nobody_waiting_and_end",
            "explorer/test_slow_clients.py::test_memory_for_bodies_that_do_not_end_is_bounded",
            "explorer/test_slow_clients.py::test_who_sends_too_much_hears_it_and_may_go_on",
            "explorer/test_slow_clients.py::test_who_sends_chunks_hears_that_none_are_taken",
            "explorer/test_gate.py::test_bodies_are_held_up_to_a_bound",
            "explorer/test_gate.py::test_who_has_been_sending_for_longest_gives_way",
        ),
    ),
    Bound(
        "Slow readers",
        "Waited for without a thread, 20 seconds for each 64 kB; what is longer than that waits on "
        "the disk (where /tmp is in memory, TMPDIR names a place that is not). Answers of more "
        "than 1 MB take at most 1 GB of it in a process; where more are asked for, those that are "
        "read slowest are given up. A single one that is larger than 1 GB waits alone, as large as "
        "it is: BATCH_SLOTS bounds it, which would have to be raised twelve times. Who takes "
        "nothing for 20 seconds is cut off. How many connections somebody holds open, and takes a "
        "little over each now and then, is "
        "the proxy's to bound: a process takes 1,024, divided by the number of processes.",
        (
            "explorer/test_slow_clients.py::test_many_slow_readers_keep_nobody_waiting",
            "explorer/test_slow_clients.py::test_a_reader_that_stands_still_is_given_up",
            "explorer/test_slow_clients.py::test_a_newcomer_gets_all_of_a_large_answer_while_others_hold_theirs_unread",
            "explorer/test_gate.py::test_large_answers_wait_for_their_readers_up_to_a_bound",
            "explorer/test_gate.py::test_who_reads_slowest_gives_way",
            "explorer/test_gate.py::test_what_is_larger_than_all_that_may_wait_is_sent_alone_or_not_at_all",
            "test_containers.py::test_answers_wait_for_their_readers_on_the_disk",
        ),
    ),
    Bound(
        "Many requests",
        "REQUESTS_PER_MINUTE for a key; a poll is three statements. Pages have no limit: the "
        "proxy's. Where 50 wait for each thread, the next is told to come again (503).",
        (
            "explorer/test_gate.py::test_when_too_many_wait_the_next_is_told_so_at_once",
            "queries/api/test_status.py::test_polling_asks_nothing_but_the_key_its_limit_and_the_batch",
            "explorer/test_denial.py::test_ten_thousand_polls",
        ),
    ),
    Bound(
        "Expensive searches and pages",
        "No text takes long to read, and each statement has an index to walk, however many rows "
        "there are. Lists leave out the slots of queries that ask for more than 20, which nothing "
        "reads there; files of facts read them a few queries at a time.",
        (
            "explorer/test_wide_queries.py::test_lists_read_nothing_of_wide_queries_slots",
            "explorer/test_wide_queries.py::test_files_hold_all_facts_of_wide_queries_and_read_a_few_at_a_time",
            "explorer/test_denial.py::test_lists_of_queries_that_are_as_wide_as_the_limits_allow",
            "explorer/test_search_terms.py::test_whatever_else_means_nothing_and_takes_no_time",
            "queries/reading/test_plans.py::test_all_of_it_is_sought_and_lists_are_not_sorted",
            "explorer/test_denial.py::test_many_searches_for_what_is_there_and_for_what_may_mean_much",
        ),
    ),
    Bound(
        "Batches as costly as may be",
        "BATCH_BLOCKS, BATCH_ACCOUNTS and BATCH_SLOTS. Accounts take turns: whoever asks for "
        "thousands, in one batch or in many, has them proven between the few that others ask for, "
        "which wait for the pieces of work at hand. A piece is a block, or several that "
        "share a transaction and were gathered for a quarter of a second; of a prover's threads, "
        "two where nobody says otherwise, one is kept for blocks of which at most 200 facts are "
        "asked. A prover of one thread has whoever comes next wait for all that one batch may ask "
        "for of one block, for seconds. However many batches ask for one block, a prover has "
        "as much of it at hand as one batch may ask for, by their turns. Whoever attacks by many "
        "accounts has a turn with each, by what it asks for: with all that a batch may ask for "
        "they come after who asks for little; of many small ones those whose turns have come go "
        "before who comes after them, for seconds. No batch "
        "spends more than its fee; but a fee is an offer that nobody "
        "collects, and keys cost nothing. What bounds a spender is most_a_day of the chain in "
        "the routes file, and what the signer holds: set the one, keep the other small. Then one "
        "who spends the day's keeps others waiting, and little more is spent.",
        (
            "queries/pipeline/test_fair_turns.py::test_one_account_is_proven_among_the_thousands_of_another",
            "queries/pipeline/test_fair_turns.py::test_who_has_a_turn_does_not_wait_for_what_another_asked_for_far_beyond_it",
            "queries/pipeline/test_fair_turns.py::test_what_is_before_its_turn_is_gathered_no_longer_once_anothers_has_come",
            "explorer/test_denial.py::test_batches_as_costly_as_the_limits_allow",
            "explorer/test_denial_of_provers.py::test_the_costliest_batch_of_many_blocks_lets_others_through",
            "explorer/test_denial_of_provers.py::test_a_prover_keeps_a_thread_from_the_costliest_batches_of_one_block",
            "explorer/test_denial_of_provers.py::test_the_costliest_batch_of_one_block_keeps_others_waiting_for_its_one_piece",
            "explorer/test_denial_of_provers.py::test_many_costliest_batches_of_one_block_hold_no_more_than_one",
            "queries/pipeline/test_fair_turns.py::test_who_asks_for_little_goes_before_many_that_ask_for_very_much",
            "queries/pipeline/test_offers.py::test_what_is_stuck_is_replaced_with_no_more_than_is_offered",
            "queries/pipeline/test_day.py::test_no_more_than_the_days_bound_is_spent",
            "queries/pipeline/test_day.py::test_what_waits_for_the_day_fetches_no_proof_and_has_not_failed",
        ),
    ),
    Bound(
        "Estimates, checks and sign-ins that wait for nodes that hang",
        "10, 5 and 4 seconds each; 30 estimates a minute and one at a time for an account; of a "
        "process's four threads three at most, proofs that are made for others included.",
        (
            "explorer/test_denial.py::test_nodes_that_hang_leave_a_thread_to_those_who_ask_nobody",
            "queries/test_held_threads.py::test_they_are_fewer_than_a_process_has_threads",
            "explorer/test_hanging_nodes.py::test_the_server_goes_on_while_nodes_hang",
        ),
    ),
    Bound(
        "Proofs that anyone has put together",
        "Two at a time in a process, which leave a place to those who wait for nodes and a thread "
        "to everyone else; the next is told to come again (503).",
        (
            "queries/test_held_threads.py::test_proofs_leave_a_place_to_who_waits_for_nodes",
            "queries/test_held_threads.py::test_they_are_fewer_than_a_process_has_threads",
            "queries/pipeline/test_proofs.py::test_as_many_as_are_made_at_once",
        ),
    ),
    Bound(
        "ENS names that hang",
        "Asked by provers and estimates alone. A node has 3 seconds for an answer and 8 for some "
        "names; one thread of a prover asks at a time, of each chain. What took more than a second "
        "rests for three times as long as it took, and whoever named it for six times, longer each "
        "time that nothing comes of it, with half as many of its batch's names at once. So names "
        "have a quarter of one thread at most, two fifths where two nodes are asked, and those of "
        "others mostly go first. Batches without names wait for a node's time once. Answers have "
        "10,000 bytes, a name eight names above it, and nothing is looked up off chain.",
        (
            "explorer/test_denial_of_provers.py::test_names_whose_node_hangs_keep_no_other_accounts_batch_waiting",
            "queries/pipeline/test_name_turns.py::test_who_names_what_hangs_rests_longer_each_time_and_others_go_first",
            "queries/pipeline/test_name_turns.py::test_one_thread_at_a_time_asks",
            "queries/pipeline/test_fewer_names.py::test_one_that_nobody_answers_is_asked_for_alone_and_as_seldom_as_ever",
            "explorer/test_denial.py::test_nodes_that_hang_leave_a_thread_to_those_who_ask_nobody",
            "queries/pipeline/test_names.py::test_nothing_is_looked_up_off_chain",
            "queries/pipeline/test_names.py::test_a_name_without_a_resolver_has_that_of_a_name_above_it",
        ),
    ),
    Bound(
        "Blocks for whose proofs nodes hang",
        "A thread of each prover has patience for them and looks at nothing else: for each for "
        "which nodes hung, and for all others of an account on a route after two in a row, or of "
        "a route after two accounts, until one goes well or none has hung for five minutes. Nodes "
        "that refuse or limit for more than four seconds count as well. Until that is known others "
        "may wait for a look or two, each of some seventeen seconds, or 24 where three nodes hang; "
        "so they may for as many as there are accounts with a block each.",
        (
            "explorer/test_denial_of_provers.py::test_proofs_that_hang_keep_others_waiting_until_it_is_known_whose",
            "queries/pipeline/test_hanging.py::test_of_many_the_others_find_out_a_few",
        ),
    ),
    Bound(
        "Webhooks that hang or drip",
        "15 seconds in all, one at a time for an account, on provers and not on the server. A "
        "prover sends four at once: those of many accounts that hang keep others waiting.",
        (
            "queries/test_webhooks.py::test_all_that_a_receiver_can_take_is_bounded",
            "queries/pipeline/test_webhook_turns.py::test_receivers_that_hang_keep_no_other_accounts_webhook_waiting",
            "explorer/test_denial_of_provers.py::test_webhooks_that_hang_keep_no_other_accounts_webhook_waiting",
        ),
    ),
    Bound(
        "Nodes that answer without an end",
        "A largest answer and a time for the whole of it.",
        (
            "queries/chain/test_json_rpc.py::test_an_endless_answer_is_given_up_by_its_size",
            "queries/chain/test_json_rpc.py::test_headers_byte_by_byte_end_behind_a_proxy_too",
        ),
    ),
)
