package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// maxProgramFrame is the number of bytes of a frame that the server accepts from a node, or sends to one.
const maxProgramFrame = 1 << 20

// programStreams are the streams of a program's caller. Those that it did not ask for are nil.
type programStreams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// sizes are those of the terminal. The channel is closed when the caller is gone.
	sizes <-chan remotecommand.TerminalSize
}

// nodeProgram runs a program on a node. Both send frames: the number of the stream, the number of bytes as 32 bits, and
// the bytes. To the node go the input, of which an empty frame is the end, and sizes of the terminal in JSON; from the
// node come the outputs and then the exit status in JSON.
type nodeProgram struct {
	socket      string
	subresource string
	question    map[string]any
}

func (p nodeProgram) ExecInContainer(
	ctx context.Context, _, _, _ string, _ []string, stdin io.Reader, stdout, stderr io.WriteCloser,
	_ bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	return p.run(ctx, programStreams{stdin, writerOf(stdout), writerOf(stderr), sizes})
}

func (p nodeProgram) AttachContainer(
	ctx context.Context, _, _, _ string, stdin io.Reader, stdout, stderr io.WriteCloser,
	_ bool, sizes <-chan remotecommand.TerminalSize,
) error {
	return p.run(ctx, programStreams{stdin, writerOf(stdout), writerOf(stderr), sizes})
}

// writerOf returns an output, or one that discards everything.
func writerOf(output io.WriteCloser) io.Writer {
	if output == nil {
		return io.Discard
	}
	return output
}

// run runs the program until it ends, or the caller is gone.
func (p nodeProgram) run(ctx context.Context, streams programStreams) error {
	question, err := json.Marshal(p.question)
	if err != nil {
		return err
	}
	connection, answer, err := upgradeToNode(ctx, p.socket, p.subresource, url.Values{"question": {string(question)}})
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	frames := &frameWriter{to: connection}
	if streams.stdin != nil {
		go copyInput(frames, streams.stdin)
	}
	if streams.sizes != nil {
		go func() {
			defer cancel()
			copySizes(frames, streams.sizes)
		}()
	}
	return copyFrames(answer, map[byte]io.Writer{remotecommand.StreamStdOut: streams.stdout, remotecommand.StreamStdErr: streams.stderr})
}

// frameWriter writes whole frames for several goroutines.
type frameWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *frameWriter) write(stream byte, content []byte) error {
	frame := append(binary.BigEndian.AppendUint32([]byte{stream}, uint32(len(content))), content...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(frame)
	return err
}

func copyInput(to *frameWriter, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && to.write(remotecommand.StreamStdIn, buffer[:n]) != nil {
			return
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = to.write(remotecommand.StreamStdIn, nil)
			}
			return
		}
	}
}

func copySizes(to *frameWriter, sizes <-chan remotecommand.TerminalSize) {
	for size := range sizes {
		content, err := json.Marshal(map[string]uint16{"columns": size.Width, "rows": size.Height})
		if err != nil || to.write(remotecommand.StreamResize, content) != nil {
			return
		}
	}
}

// copyFrames copies outputs until the frame of the exit status.
func copyFrames(from io.Reader, outputs map[byte]io.Writer) error {
	var header struct {
		Stream byte
		Length uint32
	}
	for {
		if err := binary.Read(from, binary.BigEndian, &header); err != nil {
			return fmt.Errorf("the node ended the program's output: %w", err)
		}
		if header.Length > maxProgramFrame {
			return fmt.Errorf("the node sent a frame of %d bytes", header.Length)
		}
		content := make([]byte, header.Length)
		if _, err := io.ReadFull(from, content); err != nil {
			return fmt.Errorf("the node ended the program's output: %w", err)
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
