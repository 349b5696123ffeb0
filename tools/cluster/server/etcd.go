package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// longestSocket is the limit of Linux for paths of sockets.
const longestSocket = 107

// database is an etcd in this process, reached by a socket in its directory.
type database struct {
	server   *embed.Etcd
	client   *clientv3.Client
	endpoint string
}

func startDatabase(directory string) (*database, error) {
	config := embed.NewConfig()
	config.Dir = filepath.Join(directory, "etcd")
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.WatchProgressNotifyInterval = 5 * time.Second
	config.QuotaBackendBytes = 4 << 30
	client := url.URL{Scheme: "unix", Path: filepath.Join(directory, "c.sock")}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(directory, "p.sock")}
	if len(client.Path) > longestSocket {
		return nil, fmt.Errorf("the path of the socket %s is longer than %d bytes: set TMPDIR to a shorter directory", client.Path, longestSocket)
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return nil, fmt.Errorf("etcd: %w", err)
	case <-time.After(time.Minute):
		server.Close()
		return nil, errors.New("etcd: not ready after a minute")
	}
	return &database{server: server, client: v3client.New(server.Server), endpoint: client.String()}, nil
}

// compact removes all history up to a revision that is newer than everything that clients know, and returns it.
func (d *database) compact(ctx context.Context) (int64, error) {
	var revision int64
	for range 3 {
		response, err := d.client.Put(ctx, "/istiod/compaction", time.Now().String())
		if err != nil {
			return 0, err
		}
		revision = response.Header.Revision
	}
	_, err := d.client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return revision, err
}

func (d *database) close() {
	_ = d.client.Close()
	d.server.Close()
}
