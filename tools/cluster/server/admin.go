package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// admin serves the faults by HTTP to those who have its token.
type admin struct {
	faults   *faults
	history  *history
	database *database
	ca       *authority
	token    string
}

func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) != 1 {
		http.Error(w, "the token of the faults is missing or wrong", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "must be POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err == nil {
		var result any
		if result, err = a.run(r.Context(), r.URL.Path, body); err == nil {
			writeJSON(w, "application/json", result)
			return
		}
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

func (a *admin) run(ctx context.Context, path string, body []byte) (any, error) {
	switch path {
	case "/compact":
		return a.compact(ctx, body)
	case "/expire-watches":
		result, err := a.compact(ctx, body)
		if err == nil {
			result["watches"] = int64(a.history.expireWatches())
		}
		return result, err
	case "/drop":
		return a.drop(body)
	case "/fail":
		return a.fail(body)
	case "/delay":
		return a.delay(body)
	case "/freeze":
		a.faults.listener.frozen.close()
		return struct{}{}, parse(body, &struct{}{})
	case "/thaw":
		a.faults.listener.frozen.open()
		return struct{}{}, parse(body, &struct{}{})
	case "/clear":
		a.faults.clear()
		return struct{}{}, parse(body, &struct{}{})
	case "/skew":
		skew := struct {
			Seconds float64 `json:"seconds"`
		}{}
		err := parse(body, &skew)
		a.faults.skew.Store(int64(skew.Seconds * float64(time.Second)))
		return struct{}{}, err
	case "/client-certificate":
		return a.clientCertificate(body)
	default:
		return nil, fmt.Errorf("unknown fault %s", path)
	}
}

// parse reads the JSON of a request. Unknown fields are errors, so that no condition is ignored.
func parse(body []byte, into any) error {
	if len(body) == 0 {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (a *admin) compact(ctx context.Context, body []byte) (map[string]int64, error) {
	if err := parse(body, &struct{}{}); err != nil {
		return nil, err
	}
	revision, err := a.database.compact(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]int64{"revision": revision}, a.history.compact(ctx, revision)
}

func (a *admin) drop(body []byte) (any, error) {
	options := struct {
		requestFilter
		Mode string `json:"mode"`
	}{}
	if err := parse(body, &options); err != nil {
		return nil, err
	}
	switch options.Mode {
	case "end", "abort", "reset":
		return map[string]int{"requests": a.faults.drop(options.Mode, options.requestFilter)}, nil
	default:
		return nil, fmt.Errorf("mode is %q: must be end, abort or reset", options.Mode)
	}
}

func (a *admin) fail(body []byte) (any, error) {
	added := &failure{Times: 1}
	if err := parse(body, added); err != nil {
		return nil, err
	}
	if added.Status < 400 || added.Status > 599 {
		return nil, fmt.Errorf("status is %d: must be between 400 and 599", added.Status)
	}
	if added.Times < 1 {
		return nil, fmt.Errorf("times is %d: must be at least 1", added.Times)
	}
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	a.faults.failures = append(a.faults.failures, added)
	return struct{}{}, nil
}

func (a *admin) delay(body []byte) (any, error) {
	added := &delay{}
	if err := parse(body, added); err != nil {
		return nil, err
	}
	if added.DelayMs < 1 || added.Times < 0 {
		return nil, fmt.Errorf("delayMs is %d and times is %d: must be at least 1 and at least 0", added.DelayMs, added.Times)
	}
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	a.faults.delays = append(a.faults.delays, added)
	return struct{}{}, nil
}

func (a *admin) clientCertificate(body []byte) (any, error) {
	options := struct {
		User   string   `json:"user"`
		Groups []string `json:"groups"`
	}{}
	if err := parse(body, &options); err != nil {
		return nil, err
	}
	if options.User == "" {
		return nil, fmt.Errorf("user is required")
	}
	pair, err := a.ca.issueClient(options.User, options.Groups)
	return map[string]string{"certificate": string(pair.certificate), "key": string(pair.key)}, err
}
