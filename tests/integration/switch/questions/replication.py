"""Multicast groups and clone sessions."""

from __future__ import annotations

from tests.integration.switch.client import DELETE, INSERT, MODIFY, clone_session, multicast_group
from tests.integration.switch.questions.builders import OK, PORT_8, UNSPECIFIED, Question, changed, made, replica

__all__ = ["REPLICATION"]

WITH_METADATA = changed(
    multicast_group(3, (1, 0)),
    lambda e: setattr(e.packet_replication_engine_entry.multicast_group_entry, "metadata", b"x"),
)
WITH_BACKUP = multicast_group(3, (1, 0))
_replica = WITH_BACKUP.packet_replication_engine_entry.multicast_group_entry.replicas[0]
if "backup_replicas" in _replica.DESCRIPTOR.fields_by_name:  # stubs before 1.5.0 do not know them
    _replica.backup_replicas.add(port=b"\x02")

REPLICATION = [
    Question("a group with ports that are not there", OK, INSERT, multicast_group(3, (100, 0), (200, 0))),
    Question(
        "a group twice",
        ("ALREADY_EXISTS", "Multicast group already exists"),
        INSERT,
        multicast_group(3, (1, 0)),
        before=[(INSERT, multicast_group(3))],
    ),
    Question("group 0", ("INVALID_ARGUMENT", "0 is not a valid group id"), INSERT, multicast_group(0, (1, 0))),
    Question(
        "a group id that is too high",
        ("OUT_OF_RANGE", "Group id value is too high"),
        INSERT,
        multicast_group(1 << 15, (1, 0)),
    ),
    Question(
        "modify a group that is not there",
        ("NOT_FOUND", "Multicast group does not exist"),
        MODIFY,
        multicast_group(3, (1, 0)),
    ),
    Question(
        "delete a group that is not there", ("NOT_FOUND", "Multicast group does not exist"), DELETE, multicast_group(3)
    ),
    Question(
        "a group's same replica twice",
        ("INVALID_ARGUMENT", "Duplicate replica in multicast group"),
        INSERT,
        multicast_group(3, (1, 5), (1, 5)),
    ),
    Question(
        "a replica without a port",
        ("INVALID_ARGUMENT", "Missing port in multicast group replica"),
        INSERT,
        replica(instance=1),
    ),
    Question(
        "a replica with an empty port",
        ("INVALID_ARGUMENT", "Port must not be the empty string"),
        INSERT,
        replica(port=b""),
    ),
    Question(
        "a replica with port 0", ("INVALID_ARGUMENT", "Port must be non-negative."), INSERT, replica(port=b"\x00")
    ),
    Question(
        "a replica with a port of five bytes",
        ("UNIMPLEMENTED", "Got port of %d bytes, but only 4 bytes are supported"),
        INSERT,
        replica(port=b"\x00\x00\x00\x00\x01"),
    ),
    Question("a replica with a number as its port", OK, INSERT, PORT_8),
    Question(
        "a group without a type",
        ("INVALID_ARGUMENT", "Update type is not set"),
        UNSPECIFIED,
        multicast_group(3, (1, 0)),
    ),
    Question(
        "read a group",
        OK,
        None,
        multicast_group(3),
        before=[(INSERT, multicast_group(3, (2, 1), (1, 1), (1, 0)))],
        finds=1,
    ),
    Question(
        "read groups",
        OK,
        None,
        multicast_group(0),
        before=[(INSERT, multicast_group(3, (1, 0))), (INSERT, multicast_group(4))],
        finds=2,
    ),
    Question("read a group with metadata", OK, None, multicast_group(3), before=[(INSERT, WITH_METADATA)], finds=1),
    Question(
        "read a group that is not there", ("NOT_FOUND", "Multicast group does not exist"), None, multicast_group(9)
    ),
    Question(
        "read a group id that is too high",
        ("OUT_OF_RANGE", "Group id value is too high"),
        None,
        multicast_group(1 << 15),
    ),
    Question(
        "neither a group nor a session",
        ("INVALID_ARGUMENT", "Invalid PRE operation"),
        INSERT,
        made(lambda e: e.packet_replication_engine_entry.SetInParent()),
    ),
    Question(
        "read neither a group nor a session",
        ("INVALID_ARGUMENT", "Invalid PRE operation"),
        None,
        made(lambda e: e.packet_replication_engine_entry.SetInParent()),
    ),
    Question("a session", OK, INSERT, clone_session(3, (1, 0))),
    Question(
        "a session twice",
        ("ALREADY_EXISTS", "Clone session id already exists"),
        INSERT,
        clone_session(3, (1, 0)),
        before=[(INSERT, clone_session(3))],
    ),
    Question("session 0", ("INVALID_ARGUMENT", "0 is not a valid session id"), INSERT, clone_session(0, (1, 0))),
    Question(
        "a session id that is too high",
        ("INVALID_ARGUMENT", "Clone session id out-of-range"),
        INSERT,
        clone_session(1 << 15, (1, 0)),
    ),
    Question(
        "a session that truncates",
        ("UNKNOWN", "Error when creating clone session in target"),
        INSERT,
        clone_session(3, (1, 0), length=100),
    ),
    Question(
        "a session with a class",
        ("UNIMPLEMENTED", "COS for clone sessions not supported yet"),
        INSERT,
        changed(
            clone_session(3, (1, 0)),
            lambda e: setattr(e.packet_replication_engine_entry.clone_session_entry, "class_of_service", 1),
        ),
    ),
    Question(
        "modify a session that is not there",
        ("NOT_FOUND", "Clone session id does not exist"),
        MODIFY,
        clone_session(3, (1, 0)),
    ),
    Question(
        "delete a session that is not there", ("NOT_FOUND", "Clone session id does not exist"), DELETE, clone_session(3)
    ),
    Question(
        "read a session", OK, None, clone_session(3), before=[(INSERT, clone_session(3, (2, 1), (1, 0)))], finds=1
    ),
    Question("read sessions", OK, None, clone_session(0), before=[(INSERT, clone_session(3, (1, 0)))], finds=1),
    Question(
        "read a session that is not there", ("NOT_FOUND", "Clone session id does not exist"), None, clone_session(9)
    ),
    Question("a replica with a backup", OK, INSERT, WITH_BACKUP),
    Question("what is left of a backup", OK, None, multicast_group(0), before=[(INSERT, WITH_BACKUP)], finds=1),
]
