package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// logBuffer is the number of bytes of a log that are sent at once.
const logBuffer = 32 << 10

// logREST serves the log subresource of pods: the output of a container, which the pod's node sends.
type logREST struct{ pods, nodes rest.Getter }

func (*logREST) New() runtime.Object { return &corev1.Pod{} }
func (*logREST) Destroy()            {}

func (*logREST) ConnectMethods() []string { return []string{http.MethodGet} }

// NewConnectOptions returns none: the handler reads the query itself.
func (*logREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

func (r *logREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	pod, socket, err := nodeOfPod(ctx, r.pods, r.nodes, name)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		question, err := logQuestion(pod, req.URL.Query(), time.Now())
		if err != nil {
			responder.Error(apierrors.NewBadRequest(err.Error()))
			return
		}
		log, err := askNode(req.Context(), socket, "logs", question)
		if err != nil {
			responder.Error(err)
			return
		}
		defer log.Close()
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusOK)
		sendLog(w, log)
	}), nil
}

// sendLog sends each part of a log as soon as it is there.
func sendLog(w http.ResponseWriter, log io.Reader) {
	buffer := make([]byte, logBuffer)
	control := http.NewResponseController(w)
	for {
		_ = control.Flush()
		n, err := log.Read(buffer)
		if _, failed := w.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// logQuestion returns what the node is asked for by the query of a PodLogOptions.
func logQuestion(pod *corev1.Pod, query url.Values, now time.Time) (map[string]any, error) {
	container, err := logContainer(pod, query.Get("container"))
	if err != nil {
		return nil, err
	}
	question := map[string]any{"namespace": pod.Namespace, "pod": pod.Name, "container": container}
	for _, name := range []string{"follow", "previous", "timestamps"} {
		flag, err := strconv.ParseBool(cmp.Or(query.Get(name), "false"))
		if err != nil {
			return nil, fmt.Errorf("%s is %q: must be true or false", name, query.Get(name))
		}
		question[name] = flag
	}
	if question["timestamps"] == true {
		return nil, fmt.Errorf("timestamps are not supported: the nodes do not keep the time of each line")
	}
	if stream := query.Get("stream"); stream != "" && stream != "All" {
		return nil, fmt.Errorf("stream is %q: the nodes keep both outputs in one log", stream)
	}
	for name, least := range map[string]int64{"tailLines": 0, "limitBytes": 1} {
		if value := query.Get(name); value != "" {
			if question[name], err = atLeast(name, value, least); err != nil {
				return nil, err
			}
		}
	}
	since, err := logSince(query, now)
	if err == nil && !since.IsZero() {
		question["since"] = since.UnixMilli()
	}
	return question, err
}

// logContainer returns the named container, or the only one.
func logContainer(pod *corev1.Pod, name string) (string, error) {
	names := containerNames(pod)
	switch {
	case name == "" && len(pod.Spec.Containers) == 1:
		return names[0], nil
	case name == "":
		return "", fmt.Errorf("pod %s has several containers, of which one must be named: %s", pod.Name, strings.Join(names, ", "))
	case !slices.Contains(names, name):
		return "", fmt.Errorf("container %s is not valid for pod %s", name, pod.Name)
	}
	return name, nil
}

// logSince returns the time of the first output that is asked for; zero for all.
func logSince(query url.Values, now time.Time) (time.Time, error) {
	seconds, at := query.Get("sinceSeconds"), query.Get("sinceTime")
	switch {
	case seconds != "" && at != "":
		return time.Time{}, fmt.Errorf("only one of sinceSeconds and sinceTime may be set")
	case seconds != "":
		count, err := atLeast("sinceSeconds", seconds, 1)
		return now.Add(-time.Duration(count) * time.Second), err
	case at != "":
		since, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return time.Time{}, fmt.Errorf("sinceTime is %q: must be a time as in RFC 3339", at)
		}
		return since, nil
	}
	return time.Time{}, nil
}

func atLeast(name, value string, least int64) (int64, error) {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number < least {
		return 0, fmt.Errorf("%s is %q: must be an integer of at least %d", name, value, least)
	}
	return number, nil
}
