"""``hi2 serve``: answer searches over HTTP, and show a page to try them on."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP
from hi2.cli.options import existing_index, settings
from hi2.encoders import Encoder, StaticEncoder, register_encoder
from hi2.encoders.registry import load_towers
from hi2.errors import MissingExtra, invalid


def run(
    indexes: list[Path] = typer.Argument(
        None, metavar="INDEX…", help="Folders of indexes: wiki.hi2 is the collection wiki."
    ),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; other machines reach only an address of yours."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port; 0 chooses a free one."),
    folder: Path | None = typer.Option(None, help="Folder in which collections are made and dropped over HTTP."),
    token_file: Path | None = typer.Option(
        None, help="File with lines 'read TOKEN' or 'write TOKEN', which requests need."
    ),
    read_only: bool = typer.Option(False, "--read-only", help="Refuse all changes."),
    encoder: list[str] = typer.Option([], help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    threads: int | None = typer.Option(None, min=1, help="Threads that search; all cores by default."),
    cors: list[str] = typer.Option([], help="Origin of pages that may call this server, e.g. https://example.org."),
    allow_host: list[str] = typer.Option([], help="Further name under which this server is addressed, as by a proxy."),
    max_k: int = typer.Option(1000, min=1, help="Largest number of hits of one query."),
    max_body: int = typer.Option(8 << 20, min=1, help="Bytes of the largest request."),
    max_batch: int = typer.Option(256, min=1, help="Queries, or documents, of one request."),
    max_searches: int = typer.Option(32, min=1, help="Searches at the same time; more are refused with 429."),
    timeout: float = typer.Option(30.0, min=0.1, help="Seconds for one request."),
) -> None:
    """Serve indexes over HTTP, with a page at /.

    Examples:

    hi2 serve wiki.hi2

    hi2 serve --folder collections --token-file tokens --port 9000
    """
    try:
        from hi2.server.app import LOOPBACK, Service
        from hi2.server.limits import Limits
        from hi2.server.serving import serve
        from hi2.server.tokens import Tokens
    except ImportError as error:
        raise MissingExtra("Serving needs an extra; install it with: pip install 'hi2[server]'") from error
    if not indexes and folder is None:
        raise invalid("INDEX", "given, or --folder, in which collections are made", "neither")
    if host not in LOOPBACK and token_file is None:
        raise invalid("--token-file", "given where other machines reach the server", f"--host {host} without one")
    built_in = StaticEncoder()
    register_encoder(built_in)  # one for all collections
    encoders: dict[str, Encoder] = {"static": built_in}
    for name in encoder:
        towers = load_towers(name)
        if towers.documents is not towers.queries:
            raise invalid("--encoder", "one model for queries and documents; send vectors of others", f"'{name}'")
        register_encoder(towers.documents)
        encoders[name.partition("=")[0]] = towers.documents
    service = Service(
        indexes=tuple(existing_index(path) for path in indexes or ()),
        folder=folder,
        tokens=None if token_file is None else Tokens.from_file(token_file),
        limits=Limits(k=max_k, body=max_body, batch=max_batch, searches=max_searches, seconds=timeout),
        encoders=encoders,
        trust_encoder=trust_encoder,
        read_only=read_only,
        hosts=LOOPBACK | {host.lower() for host in allow_host} if host in LOOPBACK else None,
        origins=tuple(cors),
        **({} if threads is None else {"threads": threads}),
    )

    def started(port: int) -> None:
        if not settings.quiet:
            address = f"[{host}]" if ":" in host else host
            typer.echo(f"hi2 serves http://{address}:{port}/", err=True)

    serve(service, host=host, port=port, quiet=True, started=started)
