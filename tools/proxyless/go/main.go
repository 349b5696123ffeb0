// A client and a server of proxyless gRPC. See ../README.md for what they read and write.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
)

const method = "/test.Echo/Say"

func main() {
	if len(os.Args) < 2 {
		fail("usage: probe version | serve | call")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	listen := flags.String("listen", "", "address of the server")
	name := flags.String("name", "", "answer of the server")
	target := flags.String("target", "", "target of the channel")
	byXDS := flags.Bool("xds", false, "configure the server by xDS")
	secure := flags.Bool("secure", false, "use the credentials of xDS")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	switch os.Args[1] {
	case "version":
		fmt.Println(grpc.Version)
	case "serve":
		serve(*listen, *name, *byXDS, *secure)
	case "call":
		call(*target, *secure)
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(1)
}

// raw is the codec of messages that are bytes.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

type server struct {
	name  string
	mutex sync.Mutex
	calls map[string]int
}

// say answers with the server's name. With the metadata `fail: CODE/N/KEY`, the first N calls of a key fail.
func (s *server) say(ctx context.Context, _ []byte) ([]byte, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	for _, value := range incoming.Get("fail") {
		parts := strings.SplitN(value, "/", 3)
		code, _ := strconv.Atoi(parts[0])
		times, _ := strconv.Atoi(parts[1])
		s.mutex.Lock()
		s.calls[parts[2]]++
		made := s.calls[parts[2]]
		s.mutex.Unlock()
		if made <= times {
			return nil, status.Error(codes.Code(code), "as requested")
		}
	}
	for _, value := range incoming.Get("sleep") {
		ms, _ := strconv.Atoi(value)
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return []byte(s.name), nil
}

type sayer interface {
	say(context.Context, []byte) ([]byte, error)
}

func handle(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
	var in []byte
	if err := decode(&in); err != nil {
		return nil, err
	}
	answer := func(ctx context.Context, request any) (any, error) {
		out, err := srv.(sayer).say(ctx, *request.(*[]byte))
		return &out, err
	}
	if intercept == nil {
		return answer(ctx, &in)
	}
	return intercept(ctx, &in, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, answer)
}

// registrar is a server, with or without xDS.
type registrar interface {
	grpc.ServiceRegistrar
	Serve(net.Listener) error
}

func newServer(byXDS, secure bool) registrar {
	if !byXDS {
		return grpc.NewServer(grpc.ForceServerCodec(raw{}))
	}

	creds := insecure.NewCredentials()
	if secure {
		var err error
		if creds, err = xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: creds}); err != nil {
			fail(err)
		}
	}
	mode := xds.ServingModeCallback(func(_ net.Addr, args xds.ServingModeChangeArgs) {
		fmt.Println("mode", args.Mode, args.Err)
	})
	s, err := xds.NewGRPCServer(grpc.Creds(creds), grpc.ForceServerCodec(raw{}), mode)
	if err != nil {
		fail(err)
	}
	return s
}

func serve(listen, name string, byXDS, secure bool) {
	s := newServer(byXDS, secure)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*sayer)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: handle}},
	}, &server{name: name, calls: map[string]int{}})
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		fail(err)
	}
	if err := s.Serve(listener); err != nil {
		fail(err)
	}
}

// request is a line of the standard input: calls to make, one after another.
type request struct {
	Count int `json:"count"`
	// Targets of which each is called once, all at the same time. Without any, the target of the command line is called.
	Targets  []string          `json:"targets"`
	Metadata map[string]string `json:"metadata"`
	// Deadline in milliseconds.
	Deadline int `json:"deadline"`
}

type result struct {
	Code   int    `json:"code"`
	Answer string `json:"answer"`
	// Duration in milliseconds.
	Duration int64 `json:"duration"`
}

func call(target string, secure bool) {
	var creds credentials.TransportCredentials = insecure.NewCredentials()
	if secure {
		var err error
		if creds, err = xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: creds}); err != nil {
			fail(err)
		}
	}
	connections := map[string]*grpc.ClientConn{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fail(err)
		}
		out, _ := json.Marshal(answer(r, func(to string) *grpc.ClientConn {
			if connections[to] == nil {
				connections[to] = connect(cmp.Or(to, target), creds)
			}
			return connections[to]
		}))
		fmt.Println(string(out))
	}
}

func connect(target string, creds credentials.TransportCredentials) *grpc.ClientConn {
	codec := grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}))
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds), codec)
	if err != nil {
		fail(err)
	}
	return conn
}

func answer(r request, connection func(target string) *grpc.ClientConn) []result {
	results := make([]result, len(r.Targets))
	var calls sync.WaitGroup
	for i, target := range r.Targets {
		conn := connection(target)
		calls.Go(func() { results[i] = once(conn, r) })
	}
	calls.Wait()
	for range r.Count {
		results = append(results, once(connection(""), r))
	}
	return results
}

func once(conn *grpc.ClientConn, r request) result {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Deadline)*time.Millisecond)
	defer cancel()
	for key, value := range r.Metadata {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	in, out, start := []byte("hello"), []byte{}, time.Now()
	err := conn.Invoke(ctx, method, &in, &out)
	answer := string(out)
	if err != nil {
		answer = status.Convert(err).Message()
	}
	return result{Code: int(status.Code(err)), Answer: answer, Duration: time.Since(start).Milliseconds()}
}
