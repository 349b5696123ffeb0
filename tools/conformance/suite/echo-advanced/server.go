package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// serve listens on all ports, and returns when one of them fails.
func serve(args []string) error {
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	plain := flags.IntSlice("port", nil, "ports of HTTP/1.1 and HTTP/2")
	secure := flags.IntSlice("tls", nil, "ports among those that are served with TLS")
	tcp := flags.IntSlice("tcp", nil, "ports that echo bytes")
	grpc := flags.IntSlice("grpc", nil, "ports of gRPC")
	flags.String("crt", "", "ignored: the certificate is generated")
	flags.String("key", "", "ignored: the certificate is generated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if len(*plain)+len(*tcp)+len(*grpc) == 0 {
		*plain = []int{8080}
	}
	failed := make(chan error)
	for _, port := range *plain {
		go func() { failed <- serveHTTP(port, slices.Contains(*secure, port)) }()
	}
	for _, port := range *tcp {
		go func() { failed <- serveTCP(port) }()
	}
	for _, port := range *grpc {
		go func() { failed <- serveGRPC(port) }()
	}
	return <-failed
}

func serveHTTP(port int, secure bool) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Addr:              fmt.Sprintf(":%d", port),
		Protocols:         protocols,
		ReadHeaderTimeout: 10 * time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { echo(w, r, port) }),
	}
	if !secure {
		return server.ListenAndServe()
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	return server.ListenAndServeTLS("", "")
}

// echo answers with one line for each thing that is known of a request.
func echo(w http.ResponseWriter, r *http.Request, port int) {
	w.Header().Set("Content-Type", "text/plain")
	peer, _, _ := net.SplitHostPort(r.RemoteAddr)
	fmt.Fprintf(w, "ServicePort=%d\nHost=%s\nURL=%s\nMethod=%s\nProto=%s\nIP=%s\n", port, r.Host, r.RequestURI, r.Method, r.Proto, peer)
	if r.TLS != nil {
		fmt.Fprintf(w, "Alpn=%s\nServerName=%s\n", r.TLS.NegotiatedProtocol, r.TLS.ServerName)
	}
	writeHeaders(w, "RequestHeader", r.Header)
	hostname, _ := os.Hostname()
	fmt.Fprintf(w, "Hostname=%s\n", hostname)
}

func writeHeaders(w io.Writer, field string, headers http.Header) {
	for name, values := range headers {
		for _, value := range values {
			fmt.Fprintf(w, "%s=%s:%s\n", field, name, value)
		}
	}
}

func serveTCP(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	}
}

// selfSigned returns a certificate that nobody has to trust.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0), DNSNames: []string{"echo"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
