package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime"
)

// etcdClient returns a client of the cluster's etcd. Objects that are written there as the API server would have them
// come many times as fast as through it.
func (w *World) etcdClient() (*clientv3.Client, error) {
	url, err := os.ReadFile(filepath.Join(w.Cluster.Dir, "etcd.url"))
	if err != nil {
		return nil, fmt.Errorf("%w: run make devcluster", err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimSpace(string(url))},
		DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return c, nil
}

// putObject stores an object in the API server's form; key is without "/registry/". Each has a revision of its own:
// watches lose objects of which many share one.
func putObject(ctx context.Context, c *clientv3.Client, key, apiVersion, kind string,
	o interface{ Marshal() ([]byte, error) }) error {
	raw, err := o.Marshal()
	if err != nil {
		return err
	}
	b, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}).Marshal()
	if err != nil {
		return err
	}
	if _, err := c.Put(ctx, "/registry/"+key, "k8s\x00"+string(b)); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}
