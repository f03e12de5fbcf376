"""What a client's hooks tell of a Go Team run: actions, hand-offs and breakpoints fill themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.go_team_project import Team
from tests.tools import hook

PAYLOADS = Path(__file__).parents[2] / "payloads" / "claude"


class Client:
    """A client that works on a team's run."""

    def __init__(self, team: Team, run: str) -> None:
        self.team = team
        self.run = run

    def tells(self, name: str, **changes: Any) -> Any:
        """Send a recorded call, and answer with the live state after it."""
        recorded = json.loads((PAYLOADS / f"{name}.json").read_text())
        payload = {**recorded["payload"], "cwd": str(self.team.project.root), **changes}
        call = json.dumps(payload).encode()
        hook(self.team.project.root, "claude", recorded["event"], call, HOLDFAST_RUN=self.run)
        holdfast.status(self.team.project)
        return self.team.read("state.json", self.run)


@pytest.fixture
def client(project: Workspace) -> Client:
    team = Team(project)
    return Client(team, team.begin().id)


def test_editing_and_commands_are_actions_with_the_current_file(client: Client) -> None:
    root = client.team.project.root
    asked = {"file_path": f"{root}/internal/auth.go", "old_string": "a", "new_string": "b"}
    found = client.tells("PostToolUse.Edit", tool_input=asked)
    assert found["save_trigger"] == "action"
    assert found["context"]["current_file"] == "internal/auth.go"
    assert found["context"]["last_action"] == "Edit: internal/auth.go"
    assert found["outputs"]["code_files"] == ["internal/auth.go"]
    found = client.tells("PostToolUse.Bash", tool_input={"command": "go test ./..."})
    assert found["context"]["last_action"] == "Bash: go test ./..."
    assert found["context"]["current_file"] == "internal/auth.go"
    assert found["recovery_point"]["actions_since_checkpoint"] == 2


def test_the_same_action_told_twice_counts_once(client: Client) -> None:
    client.tells("PostToolUse.Bash")
    assert client.tells("PostToolUse.Bash")["recovery_point"]["actions_since_checkpoint"] == 1


def test_a_subagent_that_begins_has_the_run_handed_to_it(client: Client) -> None:
    found = client.tells("SubagentStart", agent_type="test-agent")
    assert (found["state"]["current_agent"], found["save_trigger"]) == ("test-agent", "agent_switch")


def test_a_permission_prompt_and_the_end_of_a_turn_are_breakpoints_until_they_are_answered(client: Client) -> None:
    found = client.tells("Notification.permission_prompt")
    assert (found["state"]["breakpoint_active"], found["save_trigger"]) == (True, "breakpoint")
    assert client.tells("PostToolUse.Bash")["state"]["breakpoint_active"] is False
    assert client.tells("Stop")["state"]["breakpoint_active"] is True
    assert client.tells("UserPromptSubmit")["state"]["breakpoint_active"] is False


def test_a_permission_request_is_a_breakpoint_at_once(client: Client) -> None:
    found = client.tells("PermissionRequest")
    assert (found["state"]["breakpoint_active"], found["save_trigger"]) == (True, "breakpoint")
    assert client.tells("Notification.permission_prompt")["state"]["breakpoint_active"] is True
    assert client.tells("PostToolUse.Write")["state"]["breakpoint_active"] is False
    kinds = [event.kind for event in holdfast.log(client.team.project, run=client.run).events]
    assert kinds.count("breakpoint.set") == 2


def test_a_written_file_is_the_current_one_and_among_the_code_files(client: Client) -> None:
    root = client.team.project.root
    found = client.tells("PostToolUse.Write", tool_input={"file_path": f"{root}/cmd/main.go", "content": "x"})
    assert (found["context"]["last_action"], found["context"]["current_file"]) == ("Write: cmd/main.go", "cmd/main.go")
    assert (found["context"]["current_line"], found["outputs"]["code_files"]) == (None, ["cmd/main.go"])


def test_the_line_is_known_where_the_client_shows_the_edit(client: Client) -> None:
    root = client.team.project.root
    asked = {"file_path": f"{root}/auth.go", "old_string": "a", "new_string": "b"}
    shown = {"structuredPatch": [{"oldStart": 37, "newStart": 37, "lines": [" a", " b", " c", "-d", "+e", " f"]}]}
    assert client.tells("PostToolUse.Edit", tool_input=asked, tool_response=shown)["context"]["current_line"] == 40


@pytest.mark.parametrize(
    "shown",
    [7, {"structuredPatch": [7]}, {"structuredPatch": [{"newStart": True, "lines": []}]}, {"structuredPatch": []}],
)
def test_an_edit_that_is_shown_strangely_has_no_line(client: Client, shown: Any) -> None:
    found = client.tells("PostToolUse.Edit", tool_response=shown)
    assert (found["context"]["current_line"], found["recovery_point"]["actions_since_checkpoint"]) == (None, 1)


def test_what_was_not_permitted_writes_no_file(client: Client) -> None:
    """As recorded: the client asked for a permission that nobody could give."""
    found = client.tells("PostToolBatch")
    assert (found["context"]["current_file"], found["outputs"]["code_files"]) == (None, [])
    assert found["context"]["last_action"].startswith("Write: ")
