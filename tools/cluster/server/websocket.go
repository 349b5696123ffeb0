package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// serveWebSocket serves the streams of a program by the protocol v5.channel.k8s.io, in which a client can end the
// input. kubectl uses it since 1.30. The kubelet's library has the older ones.
func serveWebSocket(w http.ResponseWriter, req *http.Request, program nodeProgram, options *remotecommand.Options) {
	channel := func(wanted bool, direction wsstream.ChannelType) wsstream.ChannelType {
		if wanted {
			return direction
		}
		return wsstream.IgnoreChannel
	}
	connection := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommand.StreamProtocolV5Name: {Binary: true, Channels: []wsstream.ChannelType{
			remotecommand.StreamStdIn:  channel(options.Stdin, wsstream.ReadChannel),
			remotecommand.StreamStdOut: channel(options.Stdout, wsstream.WriteChannel),
			remotecommand.StreamStdErr: channel(options.Stderr, wsstream.WriteChannel),
			remotecommand.StreamErr:    wsstream.WriteChannel,
			remotecommand.StreamResize: wsstream.ReadChannel,
		}},
	})
	connection.SetIdleTimeout(execIdleTimeout)
	_, streams, err := connection.Open(w, req)
	if err != nil {
		return // The connection has answered.
	}
	defer connection.Close()
	// Clients wait for a message, by which they know that the connection is open.
	first := remotecommand.StreamErr
	if options.Stdout {
		first = remotecommand.StreamStdOut
	}
	if _, err = streams[first].Write(nil); err != nil {
		return
	}
	to := programStreams{
		stdout: streams[remotecommand.StreamStdOut],
		stderr: streams[remotecommand.StreamStdErr],
		// Without a terminal there are no sizes, and the end of their stream tells that the client is gone.
		sizes: readSizes(req, streams[remotecommand.StreamResize]),
	}
	if options.Stdin {
		to.stdin = streams[remotecommand.StreamStdIn]
	}
	status, err := json.Marshal(statusOf(program.run(req.Context(), to)))
	if err == nil {
		_, _ = streams[remotecommand.StreamErr].Write(status)
	}
}

// readSizes reads sizes of a terminal until the request ends.
func readSizes(req *http.Request, from io.Reader) <-chan remotecommand.TerminalSize {
	sizes := make(chan remotecommand.TerminalSize)
	go func() {
		defer close(sizes)
		decoder := json.NewDecoder(from)
		for {
			var size remotecommand.TerminalSize
			if decoder.Decode(&size) != nil {
				return
			}
			select {
			case sizes <- size:
			case <-req.Context().Done():
				return
			}
		}
	}()
	return sizes
}

// statusOf returns the status with which the streams of a program end.
func statusOf(err error) metav1.Status {
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return metav1.Status{Status: metav1.StatusSuccess}
	case errors.As(err, &exit) && exit.Exited():
		return metav1.Status{
			Status:  metav1.StatusFailure,
			Reason:  remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: %v", err),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(exit.ExitStatus())},
			}},
		}
	default:
		return apierrors.NewInternalError(err).Status()
	}
}
