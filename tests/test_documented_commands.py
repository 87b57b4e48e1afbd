"""Each command that the documentation shows is run by a test, or stands here with why not."""

import html
import re
from pathlib import Path

import pytest
from django.test import Client

pytestmark = pytest.mark.no_database

PAGES = ("/docs", "/docs/operating", "/docs/security", "/docs/growth", "/docs/api")
# How a line begins that is a command; other blocks show output, files or code.
COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:make|\S*python3?|curl|until|export|sudo|docker|pg_dump|pg_restore|printf|"
    r"echo|npm|\S*pip-audit|cd|read|queries/contracts/\S+|\(umask)\b"
)
NOT_RUN = "not run: "

DEMO = "tests/explorer/test_demo.py::"
WALK = "tests/test_readme_walk.py::test_the_service_on_a_chain_of_ones_own"
ASK = "tests/test_readme_script.py::test_it_submits_waits_and_reads_the_same_balance"
SERVED = "tests/explorer/test_serve.py::test_production"
CLIENT = "tests/queries/client/"
PROOF = "tests/queries/management/test_verify_proof.py::"
PUBLISHED = "tests/queries/management/test_publish_proof.py::"
LAYOUT = f"{CLIENT}test_layouts.py::test_the_command_says_what_lies_in_the_slot"
STEPS = f"{CLIENT}test_client_positions.py::test_the_command_takes_steps_in_their_order"
BACKUP = "tests/explorer/test_backup.py::test_what_was_backed_up_is_brought_back"
ATTESTED = "tests/queries/pipeline/test_attested_routes.py::"
PLACEHOLDERS = f"{NOT_RUN}sets names that stand for the reader's own"
CONTAINERS = f"{NOT_RUN}needs containers; tests/test_containers.py compares what they do"
AUDIT = f"{NOT_RUN}needs the lists of known holes, which are not in reach everywhere"
# By how a command begins.
SHOWN = {
    "make demo": f"{DEMO}test_it_proves_three_things_and_ends",
    "make test": f"{NOT_RUN}is what runs this",
    "make contracts": (
        "tests/queries/contracts/test_build.py::test_the_build_output_is_that_of_the_sources"
    ),
    "make fuzz": (
        "tests/queries/proving/test_no_lie_is_read.py"
        "::test_what_is_read_under_the_true_root_is_true"
    ),
    "queries/contracts/node_modules/.bin/anvil": WALK,
    "export DEVELOPMENT": WALK,
    "export SIGNER_KEY=": WALK,
    "export TACITUS_KEY=$(": WALK,
    "export ": PLACEHOLDERS,
    "printf '[chains": WALK,
    "python ask.py": ASK,
    "python manage.py gas_report": (
        "tests/queries/management/test_gas_report.py::test_the_table_is_for_reading"
    ),
    "python manage.py proof_speed": (
        "tests/queries/management/test_proof_speed.py::test_it_prints_both_and_the_target"
    ),
    "until curl": WALK,
    "echo 'api-key: ": "tests/accounts/test_api_keys.py::test_it_is_told_what_it_is",
    "curl -O": f"{DEMO}test_what_it_says_to_try_works",
    "python3 -m venv": f"{NOT_RUN}is what make setup does, in another folder",
    "python -m venv /tmp/audit": AUDIT,
    "/tmp/audit/bin/pip-audit": AUDIT,  # noqa: S108
    "cd queries/contracts && npm audit": AUDIT,
    "python manage.py growth": ("tests/explorer/test_growth.py::test_every_figure_is_an_option"),
    "python -m pip install": f"{NOT_RUN}is what make setup does, with the pins of developers",
    "(umask 077; python -c '": SERVED,
    "(umask 077; mkdir": CONTAINERS,
    "(umask 077; pg_dump": BACKUP,
    '(umask 077; python -c "import sqlite3': BACKUP,
    "python3 -c 'import secrets": CONTAINERS,
    "printf 'postgres": CONTAINERS,
    "broker=$(python3 -c": CONTAINERS,
    "printf 'amqp": CONTAINERS,
    "printf 'RABBITMQ": CONTAINERS,
    "read -rs": CONTAINERS,
    "sudo chown": CONTAINERS,
    "SITE_URL=https://proofs.example.org docker": CONTAINERS,
    "python manage.py check --deploy": (
        "tests/explorer/test_settings.py::test_production_settings_pass_djangos_deployment_check"
    ),
    "python manage.py migrate": SERVED,
    "python manage.py collectstatic": SERVED,
    "python manage.py serve": SERVED,
    "python manage.py run_prover": WALK,
    "python manage.py check_setup": (
        "tests/queries/management/test_check_setup.py::test_a_right_setup_is_ok"
    ),
    "python manage.py deploy_registry": (
        "tests/queries/management/test_deploy_registry.py::test_a_native_registry_is_deployed"
    ),
    "python manage.py attest --source 10 --destination 1 --watch --post": (
        f"{ATTESTED}test_signers_elsewhere_post_their_words"
    ),
    "python manage.py attest": f"{ATTESTED}test_the_command_signs_for_final_blocks_alone",
    "python manage.py verify_proof proof.json --hash": (
        f"{PROOF}test_it_says_what_is_proven_and_on_what_it_rests"
    ),
    "python manage.py verify_proof proof.json --node": (
        f"{PROOF}test_a_node_of_the_chain_with_another_block"
    ),
    "python manage.py publish_proof": (
        f"{PUBLISHED}test_it_is_published_to_a_registry_that_was_deployed_since"
    ),
    "SIGNER_KEY_FILE=key python manage.py publish_proof": (
        f"{PUBLISHED}test_it_is_published_to_a_registry_that_was_deployed_since"
    ),
    "python tacitus.py submit": (
        f"{CLIENT}test_client_command.py::test_the_commands_follow_each_other"
    ),
    "python3 tacitus.py submit": (
        f"{CLIENT}test_client_command.py::test_the_commands_follow_each_other"
    ),
    "python3 tacitus.py proof": (
        f"{CLIENT}test_client_command.py::test_a_proof_is_a_file_that_is_checked_without_the_server"
    ),
    "python tacitus.py slot --layout": LAYOUT,
    "python3 tacitus.py slot --layout": LAYOUT,
    "python tacitus.py slot": STEPS,
    "python3 tacitus.py slot": STEPS,
    "python tacitus.py --help": (
        f"{CLIENT}test_client_command.py::test_a_wrong_call_ends_with_two_and_help_with_zero"
    ),
    "pg_restore": BACKUP,
}


def _plain_blocks(markdown: str) -> list[str]:
    """Those without a language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE)
    return [block for language, block in blocks if not language]


def _shown(repository: Path) -> list[str]:
    blocks = _plain_blocks((repository / "README.md").read_text())
    for page in PAGES:
        code = re.findall(r"<pre[^>]*><code>(.*?)</code>", Client().get(page).text, re.DOTALL)
        blocks += map(html.unescape, code)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if COMMAND.match(line)]


def _said_of(command: str) -> str:
    """By the longest beginning that fits."""
    fitting = [begin for begin in SHOWN if command.startswith(begin)]
    return SHOWN[max(fitting, key=len)] if fitting else ""


def test_each_command_is_run_or_says_why_not(repository: Path) -> None:
    commands = _shown(repository)
    assert len(commands) > 60
    assert [each for each in commands if not _said_of(each)] == []


def test_nothing_is_told_of_commands_that_nobody_shows(repository: Path) -> None:
    commands = _shown(repository)
    assert [begin for begin in SHOWN if not any(each.startswith(begin) for each in commands)] == []


@pytest.mark.parametrize("told", sorted(set(SHOWN.values())))
def test_the_tests_that_run_them_are_there(repository: Path, told: str) -> None:
    if told.startswith(NOT_RUN):
        assert len(told) > len(NOT_RUN)
        return
    file, _, name = told.partition("::")
    assert re.search(rf"^def {name}\(", (repository / file).read_text(), re.MULTILINE)
