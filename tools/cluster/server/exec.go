package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	execIdleTimeout   = 4 * time.Hour
	execStreamTimeout = 30 * time.Second
	// maxExecFrame is the number of bytes of a frame that the server accepts from a node.
	maxExecFrame = 1 << 20
)

// execREST serves the exec subresource of pods. The command runs on the pod's node, without input and terminal.
type execREST struct{ pods, nodes rest.Getter }

func (*execREST) New() runtime.Object { return &corev1.PodExecOptions{} }
func (*execREST) Destroy()            {}

func (*execREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions returns none: the handler reads the query itself.
func (*execREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

func (r *execREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	pod, socket, err := nodeOfPod(ctx, r.pods, r.nodes, name)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		flag := func(name string) bool { return query.Get(name) == "true" || query.Get(name) == "1" }
		container, err := execContainer(pod, query.Get("container"))
		switch {
		case err != nil:
			responder.Error(err)
		case flag("stdin") || flag("tty"):
			responder.Error(apierrors.NewBadRequest("stdin and tty are not supported"))
		default:
			options := &remotecommand.Options{Stdout: flag("stdout"), Stderr: flag("stderr")}
			remotecommand.ServeExec(w, req, nodeExecutor{pod, socket}, pod.Name, string(pod.UID), container, query["command"],
				options, execIdleTimeout, execStreamTimeout, remotecommand.SupportedStreamingProtocols)
		}
	}), nil
}

// execContainer returns the named container, or the default one.
func execContainer(pod *corev1.Pod, name string) (string, error) {
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

// nodeExecutor asks a node to execute a command. The node answers with frames: the number of the output, or of the exit
// status, the number of bytes as 32 bits, and the bytes.
type nodeExecutor struct {
	pod    *corev1.Pod
	socket string
}

func (e nodeExecutor) ExecInContainer(
	ctx context.Context, _, _, container string, command []string, _ io.Reader, stdout, stderr io.WriteCloser,
	_ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	response, err := askNode(ctx, e.socket, "exec", map[string]any{
		"namespace": e.pod.Namespace, "pod": e.pod.Name, "container": container, "command": command,
	})
	if err != nil {
		return err
	}
	defer response.Close()
	outputs := map[byte]io.Writer{remotecommand.StreamStdOut: io.Discard, remotecommand.StreamStdErr: io.Discard}
	if stdout != nil {
		outputs[remotecommand.StreamStdOut] = stdout
	}
	if stderr != nil {
		outputs[remotecommand.StreamStdErr] = stderr
	}
	return copyFrames(response, outputs)
}

// copyFrames copies outputs until the frame of the exit status.
func copyFrames(from io.Reader, outputs map[byte]io.Writer) error {
	var header struct {
		Stream byte
		Length uint32
	}
	for {
		if err := binary.Read(from, binary.BigEndian, &header); err != nil {
			return fmt.Errorf("the node ended the command's output: %w", err)
		}
		if header.Length > maxExecFrame {
			return fmt.Errorf("the node sent a frame of %d bytes", header.Length)
		}
		content := make([]byte, header.Length)
		if _, err := io.ReadFull(from, content); err != nil {
			return fmt.Errorf("the node ended the command's output: %w", err)
		}
		if header.Stream == remotecommand.StreamErr {
			return exitError(content)
		}
		output := outputs[header.Stream]
		if output == nil {
			return fmt.Errorf("the node sent a frame of the unknown output %d", header.Stream)
		}
		if _, err := output.Write(content); err != nil {
			return err
		}
	}
}

// exitError returns the error for an exit status, in JSON, or nil for 0.
func exitError(content []byte) error {
	var status int
	if err := json.Unmarshal(content, &status); err != nil {
		return err
	}
	if status == 0 {
		return nil
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("%d", status), Code: status}
}
