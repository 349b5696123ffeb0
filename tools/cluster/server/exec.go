package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	execIdleTimeout   = 4 * time.Hour
	execStreamTimeout = 30 * time.Second
)

// programREST serves a subresource of pods whose streams are those of a program in a container: exec starts one, and
// attach joins that of the container. The node of the pod runs it.
type programREST struct {
	pods, nodes rest.Getter
	// subresource is exec or attach.
	subresource string
}

func (r *programREST) New() runtime.Object {
	if r.subresource == "attach" {
		return &corev1.PodAttachOptions{}
	}
	return &corev1.PodExecOptions{}
}

func (*programREST) Destroy() {}

func (*programREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions returns none: the handler reads the query itself.
func (*programREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

func (r *programREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	pod, socket, err := nodeOfPod(ctx, r.pods, r.nodes, name)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		container, err := programContainer(pod, query.Get("container"))
		if err != nil {
			responder.Error(err)
			return
		}
		options, err := programOptions(query)
		if err != nil {
			responder.Error(apierrors.NewBadRequest(err.Error()))
			return
		}
		program := nodeProgram{socket: socket, subresource: r.subresource, question: map[string]any{
			"namespace": pod.Namespace, "pod": pod.Name, "container": container, "command": query["command"],
			"stdin": options.Stdin, "tty": options.TTY,
		}}
		switch {
		case wsstream.IsWebSocketRequestWithStreamCloseProtocol(req):
			serveWebSocket(w, req, program, options)
		case r.subresource == "attach":
			remotecommand.ServeAttach(w, req, program, pod.Name, string(pod.UID), container, options,
				execIdleTimeout, execStreamTimeout, remotecommand.SupportedStreamingProtocols)
		default:
			remotecommand.ServeExec(w, req, program, pod.Name, string(pod.UID), container, query["command"], options,
				execIdleTimeout, execStreamTimeout, remotecommand.SupportedStreamingProtocols)
		}
	}), nil
}

// programOptions returns the streams that the query of a PodExecOptions or a PodAttachOptions asks for.
func programOptions(query map[string][]string) (*remotecommand.Options, error) {
	flag := func(name string) bool {
		values := query[name]
		return len(values) > 0 && (values[0] == "true" || values[0] == "1")
	}
	options := &remotecommand.Options{Stdin: flag("stdin"), Stdout: flag("stdout"), Stderr: flag("stderr"), TTY: flag("tty")}
	if !options.Stdin && !options.Stdout && !options.Stderr {
		return nil, fmt.Errorf("you must specify at least 1 of stdin, stdout, stderr")
	}
	// A terminal has one output.
	options.Stderr = options.Stderr && !options.TTY
	return options, nil
}

// programContainer returns the named container, or the default one.
func programContainer(pod *corev1.Pod, name string) (string, error) {
	if name == "" {
		name = pod.Annotations["kubectl.kubernetes.io/default-container"]
	}
	if name == "" {
		return pod.Spec.Containers[0].Name, nil
	}
	if slices.Contains(containerNames(pod), name) {
		return name, nil
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
}
