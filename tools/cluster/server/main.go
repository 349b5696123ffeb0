// Command server is a Kubernetes API server with an embedded etcd, for tests and for trying things out on one machine.
// It keeps nothing: every start is an empty cluster.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintf(os.Stderr, "istiod-cluster: %v\n", err)
		os.Exit(1)
	}
}

type flags struct {
	address, issuer, directory, kubeconfig string
	faults, watchStdin                     bool
}

func parseFlags() flags {
	var f flags
	klog.InitFlags(nil)
	_ = flag.Set("logtostderr", "true")
	_ = flag.Set("alsologtostderr", "false")
	flag.StringVar(&f.address, "listen", "127.0.0.1:0", "address to serve on")
	flag.StringVar(&f.issuer, "issuer", "https://kubernetes.default.svc.cluster.local", "issuer of service account tokens")
	flag.StringVar(&f.directory, "directory", "", "directory for the files of this run, which is removed at the end; default: a new one")
	flag.StringVar(&f.kubeconfig, "kubeconfig", "", "file for the administrator's kubeconfig, which is removed at the end; default: none")
	flag.BoolVar(&f.faults, "faults", false, "serve faults on a second port")
	flag.BoolVar(&f.watchStdin, "watch-stdin", false, "exit at the end of the standard input")
	flag.Parse()
	return f
}

// report is printed to the standard output when the server is ready.
type report struct {
	URL                  string `json:"url"`
	CertificateAuthority string `json:"certificateAuthority"`
	Token                string `json:"token"`
	ClientCertificate    string `json:"clientCertificate"`
	ClientKey            string `json:"clientKey"`
	Kubeconfig           string `json:"kubeconfig"`
	FaultsURL            string `json:"faultsUrl,omitempty"`
	FaultsToken          string `json:"faultsToken,omitempty"`
}

func start() error {
	f := parseFlags()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if f.watchStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	directory := f.directory
	if directory == "" {
		created, err := os.MkdirTemp("", "istiod-cluster-")
		if err != nil {
			return err
		}
		directory = created
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	token, err := newToken()
	if err != nil {
		return err
	}
	s, err := newServer(configuration{
		directory: directory, address: f.address, issuer: f.issuer,
		tokens: staticTokens{token: {Name: "admin", UID: "admin", Groups: []string{user.SystemPrivilegedGroup}}},
	})
	if err != nil {
		return err
	}
	defer s.database.close()
	if f.kubeconfig != "" {
		defer os.Remove(f.kubeconfig)
	}
	return s.run(ctx, func() error { return s.report(token, f) })
}

func (s *server) report(token string, f flags) error {
	pair, err := s.ca.issueClient("admin", []string{user.SystemPrivilegedGroup})
	if err != nil {
		return err
	}
	r := report{
		URL: "https://" + s.listener.Addr().String(), CertificateAuthority: string(s.ca.pem), Token: token,
		ClientCertificate: string(pair.certificate), ClientKey: string(pair.key),
	}
	kubeconfig, err := clientcmd.Write(s.kubeconfig(pair))
	if err != nil {
		return err
	}
	r.Kubeconfig = string(kubeconfig)
	if f.kubeconfig != "" {
		if err := os.WriteFile(f.kubeconfig, kubeconfig, 0o600); err != nil {
			return err
		}
	}
	if f.faults {
		if r.FaultsURL, r.FaultsToken, err = s.serveFaults(); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// kubeconfig has a client certificate, as the one of kubeadm has.
func (s *server) kubeconfig(pair keyPair) clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["istiod"] = &clientcmdapi.Cluster{
		Server: "https://" + s.listener.Addr().String(), CertificateAuthorityData: s.ca.pem,
	}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.certificate, ClientKeyData: pair.key}
	config.Contexts["istiod"] = &clientcmdapi.Context{Cluster: "istiod", AuthInfo: "admin"}
	config.CurrentContext = "istiod"
	return *config
}

func (s *server) serveFaults() (string, string, error) {
	token, err := newToken()
	if err != nil {
		return "", "", err
	}
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	go func() {
		_ = http.Serve(second, &admin{faults: s.faults, history: s.history, database: s.database, ca: s.ca, token: token})
	}()
	return "http://" + second.Addr().String(), token, nil
}

func newToken() (string, error) {
	token := make([]byte, 24)
	_, err := rand.Read(token)
	return hex.EncodeToString(token), err
}
