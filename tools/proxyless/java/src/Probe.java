import com.google.gson.Gson;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.grpc.xds.XdsChannelCredentials;
import io.grpc.xds.XdsServerBuilder;
import io.grpc.xds.XdsServerCredentials;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** A client and a server of proxyless gRPC. See ../../README.md for what they read and write. */
public final class Probe {
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        }
      };

  private static final MethodDescriptor<byte[], byte[]> SAY =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("test.Echo/Say")
          .setRequestMarshaller(BYTES)
          .setResponseMarshaller(BYTES)
          .build();

  private static final Context.Key<Metadata> INCOMING = Context.key("incoming");

  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int i = 1; i < args.length; i++) {
      boolean isFlag = args[i].equals("--xds") || args[i].equals("--secure");
      options.put(args[i], isFlag ? "" : args[++i]);
    }
    switch (args.length == 0 ? "" : args[0]) {
      case "version" -> System.out.println(version());
      case "serve" -> serve(options);
      case "call" -> call(options);
      default -> throw new IllegalArgumentException("usage: probe version | serve | call");
    }
  }

  /** The version in the name of the library's archive. */
  private static String version() {
    String archive = ManagedChannel.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    return archive.replaceAll(".*/grpc-api-|\\.jar$", "");
  }

  private static void serve(Map<String, String> options) throws Exception {
    String[] address = options.get("--listen").split(":");
    int port = Integer.parseInt(address[1]);
    ServerCredentials credentials = InsecureServerCredentials.create();
    if (options.containsKey("--secure")) {
      credentials = XdsServerCredentials.create(credentials);
    }
    ServerBuilder<?> builder =
        options.containsKey("--xds")
            ? XdsServerBuilder.forPort(port, credentials)
            : NettyServerBuilder.forAddress(new InetSocketAddress(address[0], port), credentials);
    Echo echo = new Echo(options.get("--name"));
    Server server =
        builder
            .addService(
                ServerServiceDefinition.builder("test.Echo")
                    .addMethod(SAY, ServerCalls.asyncUnaryCall(echo::say))
                    .build())
            .intercept(new WithMetadata())
            .build()
            .start();
    System.out.println("serving");
    server.awaitTermination();
  }

  private static final class WithMetadata implements ServerInterceptor {
    @Override
    public <Q, S> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, S> call, Metadata metadata, ServerCallHandler<Q, S> next) {
      return Contexts.interceptCall(Context.current().withValue(INCOMING, metadata), call, metadata, next);
    }
  }

  /** Answers with a name. With the metadata `fail: CODE/N/KEY`, the first N calls of a key fail. */
  private static final class Echo {
    private final byte[] name;
    private final Map<String, Integer> calls = new ConcurrentHashMap<>();

    Echo(String name) {
      this.name = name.getBytes();
    }

    void say(byte[] request, StreamObserver<byte[]> answer) {
      Metadata incoming = INCOMING.get();
      String fail = incoming.get(key("fail"));
      if (fail != null) {
        String[] parts = fail.split("/", 3);
        if (calls.merge(parts[2], 1, Integer::sum) <= Integer.parseInt(parts[1])) {
          Status status = Status.fromCodeValue(Integer.parseInt(parts[0]));
          answer.onError(status.withDescription("as requested").asRuntimeException());
          return;
        }
      }
      String sleep = incoming.get(key("sleep"));
      try {
        Thread.sleep(sleep == null ? 0 : Long.parseLong(sleep));
        answer.onNext(name);
        answer.onCompleted();
      } catch (InterruptedException | StatusRuntimeException error) {
        // The client has ended the call.
      }
    }
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /**
   * A line of the standard input: calls to make, one after another, or one of each target at the same time. The
   * deadline is in milliseconds.
   */
  private record Calls(int count, Map<String, String> metadata, long deadline, List<String> targets) {}

  /** The outcome of a call. The duration is in milliseconds. */
  private record Result(int code, String answer, long duration) {}

  private static void call(Map<String, String> options) throws IOException {
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    if (options.containsKey("--secure")) {
      credentials = XdsChannelCredentials.create(credentials);
    }
    ChannelCredentials chosen = credentials;
    Map<String, ManagedChannel> channels = new HashMap<>();
    ExecutorService threads = Executors.newCachedThreadPool();
    Gson gson = new Gson();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Calls calls = gson.fromJson(line, Calls.class);
      List<CompletableFuture<Result>> pending = new ArrayList<>();
      for (String target : calls.targets() == null ? List.<String>of() : calls.targets()) {
        ManagedChannel channel = channels.computeIfAbsent(target, each -> Grpc.newChannelBuilder(each, chosen).build());
        pending.add(CompletableFuture.supplyAsync(() -> once(channel, calls), threads));
      }
      List<Result> results = new ArrayList<>();
      pending.forEach(each -> results.add(each.join()));
      for (int i = 0; i < calls.count(); i++) {
        String target = options.get("--target");
        results.add(once(channels.computeIfAbsent(target, each -> Grpc.newChannelBuilder(each, chosen).build()), calls));
      }
      System.out.println(gson.toJson(results));
    }
    channels.values().forEach(ManagedChannel::shutdownNow);
    threads.shutdown();
  }

  private static Result once(ManagedChannel channel, Calls calls) {
    Metadata metadata = new Metadata();
    if (calls.metadata() != null) {
      calls.metadata().forEach((name, value) -> metadata.put(key(name), value));
    }
    long start = System.nanoTime();
    int code = 0;
    String answer;
    try {
      answer =
          new String(
              ClientCalls.blockingUnaryCall(
                  ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(metadata)),
                  SAY,
                  CallOptions.DEFAULT.withDeadlineAfter(calls.deadline(), TimeUnit.MILLISECONDS),
                  "hello".getBytes()));
    } catch (StatusRuntimeException error) {
      code = error.getStatus().getCode().value();
      answer = String.valueOf(error.getStatus().getDescription());
    }
    return new Result(code, answer, (System.nanoTime() - start) / 1_000_000);
  }

  private Probe() {}
}
