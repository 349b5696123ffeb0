package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

const (
	forwardIdleTimeout   = 4 * time.Hour
	forwardStreamTimeout = 30 * time.Second
)

// portForwardREST serves the portforward subresource of pods: by SPDY, alone or in WebSockets as kubectl wraps it, and
// by plain WebSockets.
type portForwardREST struct{ pods, nodes rest.Getter }

func (*portForwardREST) New() runtime.Object { return &corev1.PodPortForwardOptions{} }
func (*portForwardREST) Destroy()            {}

func (*portForwardREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions returns none: the handler reads the query itself.
func (*portForwardREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

func (r *portForwardREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	pod, socket, err := nodeOfPod(ctx, r.pods, r.nodes, name)
	if err != nil {
		return nil, err
	}
	forward := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// A plain WebSocket names its ports in the query, by the kubelet's name of the parameter from here on.
		query := req.URL.Query()
		query.Set("port", strings.Join(query["ports"], ","))
		req.URL.RawQuery = query.Encode()
		options, err := portforward.NewV4Options(req)
		if err != nil {
			responder.Error(apierrors.NewBadRequest(err.Error()))
			return
		}
		portforward.ServePortForward(w, req, nodeForwarder{pod, socket}, pod.Name, string(pod.UID), options,
			forwardIdleTimeout, forwardStreamTimeout, portforward.SupportedProtocols)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if wsstream.IsWebSocketRequestWithTunnelingProtocol(req) {
			proxy.NewTunnelingHandler(forward).ServeHTTP(w, req)
			return
		}
		forward.ServeHTTP(w, req)
	}), nil
}

// nodeForwarder connects to ports of a pod through its node.
type nodeForwarder struct {
	pod    *corev1.Pod
	socket string
}

func (f nodeForwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	query := url.Values{"namespace": {f.pod.Namespace}, "pod": {f.pod.Name}, "port": {strconv.Itoa(int(port))}}
	connection, buffered, err := upgradeToNode(ctx, f.socket, "forward", query)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, stream)
		// The program in the pod may still answer.
		_ = connection.CloseWrite()
	}()
	_, err = io.Copy(stream, buffered)
	return err
}
