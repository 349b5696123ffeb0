"""A client and a server of proxyless gRPC. See ../README.md for what they read and write."""

import argparse
import concurrent.futures
import json
import sys
import threading
import time

import grpc
import grpc.experimental

METHOD = "/test.Echo/Say"


class Echo(grpc.GenericRpcHandler):
    """Answers with a name. With the metadata `fail: CODE/N/KEY`, the first N calls of a key fail."""

    def __init__(self, name):
        self._name = name.encode()
        self._lock = threading.Lock()
        self._calls = {}

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self._say) if details.method == METHOD else None

    def _say(self, request, context):
        metadata = dict(context.invocation_metadata())
        if "fail" in metadata:
            code, times, key = metadata["fail"].split("/", 2)
            with self._lock:
                made = self._calls[key] = self._calls.get(key, 0) + 1
            if made <= int(times):
                context.abort(next(each for each in grpc.StatusCode if each.value[0] == int(code)), "as requested")
        time.sleep(int(metadata.get("sleep", 0)) / 1000)
        return self._name


def serve(arguments):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), handlers=[Echo(arguments.name)], xds=arguments.xds)
    if arguments.secure:
        credentials = grpc.xds_server_credentials(grpc.insecure_server_credentials())
        server.add_secure_port(arguments.listen, credentials)
    else:
        server.add_insecure_port(arguments.listen)
    server.start()
    print("serving", flush=True)
    server.wait_for_termination()


def call(arguments):
    channels = {}

    def say(target):
        if target not in channels:
            channels[target] = open_channel(target or arguments.target, arguments.secure).unary_unary(METHOD)
        return channels[target]

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for line in sys.stdin:
            request = json.loads(line)
            calls = [pool.submit(once, say(target), request) for target in request.get("targets", [])]
            results = [call.result() for call in calls]
            results += [once(say(""), request) for _ in range(request["count"])]
            print(json.dumps(results), flush=True)


def open_channel(target, secure):
    if not secure:
        return grpc.insecure_channel(target)
    credentials = grpc.xds_channel_credentials(grpc.experimental.insecure_channel_credentials())
    return grpc.secure_channel(target, credentials)


def once(say, request):
    start = time.monotonic()
    try:
        metadata = tuple(request.get("metadata", {}).items())
        answer, code = say(b"hello", timeout=request["deadline"] / 1000, metadata=metadata).decode(), 0
    except grpc.RpcError as error:
        answer, code = error.details(), error.code().value[0]
    return {"code": code, "answer": answer, "duration": round((time.monotonic() - start) * 1000)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["version", "serve", "call"])
    parser.add_argument("--listen")
    parser.add_argument("--name")
    parser.add_argument("--target")
    parser.add_argument("--xds", action="store_true")
    parser.add_argument("--secure", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "version":
        print(grpc.__version__)
    elif arguments.command == "serve":
        serve(arguments)
    else:
        call(arguments)


main()
