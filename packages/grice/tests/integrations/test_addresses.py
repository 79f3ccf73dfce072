"""What listens at an address: what it answers first, or that it says nothing."""

from __future__ import annotations

import socket
import threading

import pytest

from grice.integrations import addresses
from grice.integrations.addresses import first_answer


@pytest.fixture
def listening():
    """Return a function that answers one connection, and gives its address."""
    sockets = []

    def listen(answer, *, greeted=b""):
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)

        def serve():
            connection, _ = server.accept()
            sockets.append(connection)
            if not greeted or connection.recv(len(greeted)) == greeted:
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"

    yield listen
    for each in sockets:
        each.close()


@pytest.mark.enable_socket
def test_the_first_bytes_of_who_speaks_first_are_given(listening):
    assert first_answer(listening(b"SSH-2.0-OpenSSH")) == b"SSH-2.0-O"


@pytest.mark.enable_socket
def test_what_is_answered_to_a_greeting_is_given(listening):
    assert first_answer(listening(b"hello you", greeted=b"who?"), b"who?") == b"hello you"


@pytest.mark.enable_socket
def test_fewer_bytes_are_given_where_no_more_come(listening, monkeypatch):
    monkeypatch.setattr(addresses, "PATIENCE", 0.1)
    assert first_answer(listening(b"hi")) == b"hi"


@pytest.mark.enable_socket
def test_a_service_that_waits_to_be_asked_gives_nothing_in_time(listening, monkeypatch):
    monkeypatch.setattr(addresses, "PATIENCE", 0.1)
    assert first_answer(listening(b"hello", greeted=b"who?")) == b""


@pytest.mark.parametrize("address", ["auto", "local[2]", "ray://head", "host:port"])
def test_an_address_without_a_port_is_not_asked(address):
    assert first_answer(address) is None
