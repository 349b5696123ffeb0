package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The method of Istio's server for tests. Its messages have one field, as StringValue has.
const (
	echoService = "proto.EchoTestService"
	echoMethod  = "Echo"
)

// serveGRPC answers calls with one line for each thing that is known of them.
func serveGRPC(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: echoService,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: echoMethod,
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := &wrapperspb.StringValue{}
				if err := decode(request); err != nil {
					return nil, err
				}
				return wrapperspb.String(describeCall(ctx, port)), nil
			},
		}},
	}, nil)
	return server.Serve(listener)
}

func describeCall(ctx context.Context, port int) string {
	var lines strings.Builder
	headers, _ := metadata.FromIncomingContext(ctx)
	fmt.Fprintf(&lines, "ServicePort=%d\nHost=%s\nProto=GRPC\n", port, strings.Join(headers.Get(":authority"), ","))
	if from, ok := peer.FromContext(ctx); ok {
		address, _, _ := net.SplitHostPort(from.Addr.String())
		fmt.Fprintf(&lines, "IP=%s\n", address)
	}
	writeHeaders(&lines, "RequestHeader", map[string][]string(headers))
	hostname, _ := os.Hostname()
	fmt.Fprintf(&lines, "Hostname=%s\n", hostname)
	return lines.String()
}

// requestGRPC calls a server, and prints for each call what was answered, with the status 200 of HTTP.
func requestGRPC(address string, headers []string, count int, timeout time.Duration) error {
	address, _, _ = strings.Cut(address, "/")
	for index := range count {
		body, err := call(address, headers, timeout)
		if err != nil {
			return err
		}
		var lines strings.Builder
		fmt.Fprintf(&lines, "Url=grpc://%s\nStatusCode=200\n", address)
		writeBody(&lines, body)
		printAnswer(index, lines.String())
	}
	return nil
}

// call makes one call on a connection of its own.
func call(address string, headers []string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	for _, header := range headers {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return "", fmt.Errorf("header %q: must be name:value", header)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, name, strings.TrimSpace(value))
	}
	answer := &wrapperspb.StringValue{}
	err = connection.Invoke(ctx, "/"+echoService+"/"+echoMethod, wrapperspb.String("echo"), answer)
	return answer.GetValue(), err
}
