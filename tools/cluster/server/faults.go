package main

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// requestFilter selects requests. Every condition that is present must match.
type requestFilter struct {
	PathPrefix string `json:"pathPrefix"`
	Method     string `json:"method"`
	Watch      *bool  `json:"watch"`
}

func (f requestFilter) matches(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, f.PathPrefix) &&
		(f.Method == "" || f.Method == r.Method) &&
		(f.Watch == nil || *f.Watch == isWatch(r))
}

func isWatch(r *http.Request) bool {
	watch, _ := strconv.ParseBool(r.URL.Query().Get("watch"))
	return r.Method == http.MethodGet && watch
}

type failure struct {
	requestFilter
	Status            int  `json:"status"`
	Times             int  `json:"times"`
	RetryAfterSeconds *int `json:"retryAfterSeconds"`
}

type delay struct {
	requestFilter
	DelayMs int64 `json:"delayMs"`
	// Times is the number of requests; 0 for all.
	Times int `json:"times"`
}

// faults makes the server fail for clients as real ones do.
type faults struct {
	listener *listener
	codecs   runtime.NegotiatedSerializer
	skew     atomic.Int64

	mu       sync.Mutex
	active   map[*activeRequest]struct{}
	failures []*failure
	delays   []*delay
	// cleared is closed when delays end.
	cleared chan struct{}
}

func newFaults(listener *listener, codecs runtime.NegotiatedSerializer) *faults {
	return &faults{listener: listener, codecs: codecs, active: map[*activeRequest]struct{}{}, cleared: make(chan struct{})}
}

// now is the time that the server believes in.
func (f *faults) now() time.Time { return time.Now().Add(time.Duration(f.skew.Load())) }

// activeRequest is a request in progress.
type activeRequest struct {
	http.ResponseWriter
	request *http.Request
	cancel  context.CancelFunc
	started atomic.Bool
	done    chan struct{}
}

func (a *activeRequest) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *activeRequest) WriteHeader(status int) {
	a.started.Store(true)
	a.ResponseWriter.WriteHeader(status)
}

func (a *activeRequest) Write(data []byte) (int, error) {
	a.started.Store(true)
	return a.ResponseWriter.Write(data)
}

// wrap applies the faults to the requests of clients.
func (f *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isInternal(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		current := &activeRequest{ResponseWriter: w, request: r, cancel: cancel, done: make(chan struct{})}
		f.begin(current)
		defer f.end(current)
		if skew := f.skew.Load(); skew != 0 {
			w.Header().Set("Date", f.now().UTC().Format(http.TimeFormat))
		}
		if !wait(ctx, f.listener.frozen.opened()) || !f.delay(ctx, r) {
			return
		}
		if failed := f.take(r); failed != nil {
			f.fail(current, r, failed)
			return
		}
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(current), r.WithContext(ctx))
	})
}

func wait(ctx context.Context, until <-chan struct{}) bool {
	select {
	case <-until:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *faults) begin(request *activeRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active[request] = struct{}{}
}

func (f *faults) end(request *activeRequest) {
	f.mu.Lock()
	delete(f.active, request)
	f.mu.Unlock()
	close(request.done)
}

func (f *faults) delay(ctx context.Context, r *http.Request) bool {
	f.mu.Lock()
	at := slices.IndexFunc(f.delays, func(d *delay) bool { return d.matches(r) })
	if at < 0 {
		f.mu.Unlock()
		return true
	}
	found := f.delays[at]
	if found.Times > 0 {
		if found.Times--; found.Times == 0 {
			f.delays = slices.Delete(f.delays, at, at+1)
		}
	}
	cleared := f.cleared
	f.mu.Unlock()
	timer := time.NewTimer(time.Duration(found.DelayMs) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-cleared:
	case <-ctx.Done():
		return false
	}
	return true
}

func (f *faults) take(r *http.Request) *failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.failures, func(candidate *failure) bool { return candidate.matches(r) })
	if at < 0 {
		return nil
	}
	found := f.failures[at]
	if found.Times--; found.Times == 0 {
		f.failures = slices.Delete(f.failures, at, at+1)
	}
	return found
}

func (f *faults) fail(w http.ResponseWriter, r *http.Request, failed *failure) {
	err := apierrors.NewGenericServerResponse(failed.Status, strings.ToLower(r.Method), schema.GroupResource{}, "", "injected fault", retryAfter(failed), false)
	if failed.Status == http.StatusTooManyRequests {
		err.ErrStatus.Reason = metav1.StatusReasonTooManyRequests
	}
	err.ErrStatus.Message = "injected fault: " + http.StatusText(failed.Status)
	if seconds := retryAfter(failed); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	}
	responsewriters.ErrorNegotiated(err, f.codecs, schema.GroupVersion{Version: "v1"}, w, r)
}

func retryAfter(failed *failure) int {
	switch {
	case failed.RetryAfterSeconds != nil:
		return *failed.RetryAfterSeconds
	case failed.Status == http.StatusTooManyRequests:
		return 1
	default:
		return 0
	}
}

// drop ends the requests that a filter selects, and returns their number.
func (f *faults) drop(mode string, filter requestFilter) int {
	f.mu.Lock()
	var selected []*activeRequest
	for request := range f.active {
		if filter.matches(request.request) {
			selected = append(selected, request)
		}
	}
	f.mu.Unlock()
	for _, request := range selected {
		conn := f.listener.conn(request.request.RemoteAddr)
		switch {
		case mode == "end" && request.started.Load():
			// Other responses than watches end by themselves.
			if isWatch(request.request) {
				request.cancel()
			}
		case conn == nil:
			request.cancel()
		case mode == "reset":
			conn.reset()
		default:
			_ = conn.Close()
		}
	}
	for _, request := range selected {
		select {
		case <-request.done:
		case <-f.frozenNow():
		}
	}
	return len(selected)
}

// frozenNow returns a channel that is closed while the server is frozen, when no response ends.
func (f *faults) frozenNow() <-chan struct{} {
	select {
	case <-f.listener.frozen.opened():
		return nil
	default:
		return open
	}
}

func (f *faults) clear() {
	f.mu.Lock()
	f.failures, f.delays = nil, nil
	close(f.cleared)
	f.cleared = make(chan struct{})
	f.mu.Unlock()
	f.listener.frozen.open()
}
