package main

import (
	"context"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// listener accepts connections of clients by TCP, and those of the server itself in memory. Faults concern the former.
type listener struct {
	net.Listener
	internal *bufconn.Listener
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	frozen   *gate

	mu    sync.Mutex
	conns map[string]*clientConn
}

func listen(address string) (*listener, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &listener{
		Listener: tcp, internal: bufconn.Listen(1 << 18), accepted: make(chan net.Conn), closed: make(chan struct{}),
		frozen: &gate{}, conns: map[string]*clientConn{},
	}
	go l.accept(tcp, l.track)
	go l.accept(l.internal, func(conn net.Conn) net.Conn { return conn })
	return l, nil
}

func (l *listener) accept(from net.Listener, wrap func(net.Conn) net.Conn) {
	for {
		conn, err := from.Accept()
		if err != nil {
			_ = l.Close()
			return
		}
		select {
		case l.accepted <- wrap(conn):
		case <-l.closed:
			_ = conn.Close()
			return
		}
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		_ = l.Listener.Close()
		_ = l.internal.Close()
	})
	return nil
}

// dial connects the server to itself.
func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.internal.DialContext(ctx)
}

// isInternal reports whether a request came by dial.
func isInternal(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && address.Network() == "bufconn"
}

func (l *listener) track(conn net.Conn) net.Conn {
	tracked := &clientConn{TCPConn: conn.(*net.TCPConn), listener: l, closed: make(chan struct{})}
	l.mu.Lock()
	l.conns[conn.RemoteAddr().String()] = tracked
	l.mu.Unlock()
	return tracked
}

func (l *listener) conn(remote string) *clientConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[remote]
}

// clientConn is a connection of a client. It writes nothing while the server is frozen.
type clientConn struct {
	*net.TCPConn
	listener *listener
	closed   chan struct{}
	once     sync.Once
}

func (c *clientConn) Write(data []byte) (int, error) {
	select {
	case <-c.listener.frozen.opened():
	case <-c.closed:
		return 0, net.ErrClosed
	}
	return c.TCPConn.Write(data)
}

func (c *clientConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.listener.mu.Lock()
		delete(c.listener.conns, c.RemoteAddr().String())
		c.listener.mu.Unlock()
	})
	return c.TCPConn.Close()
}

// reset closes the connection with RST.
func (c *clientConn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// gate is open until it is closed.
type gate struct {
	mu   sync.Mutex
	wait chan struct{}
}

var open = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// opened returns a channel that is closed while the gate is open.
func (g *gate) opened() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait == nil {
		return open
	}
	return g.wait
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait == nil {
		g.wait = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait != nil {
		close(g.wait)
		g.wait = nil
	}
}
