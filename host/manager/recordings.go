package manager

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/discovery"
	"github.com/windlass-dev/windlass/host/record"
)

// recordings are the last syncs of each controller that runs or has run here, and the last writes.
type recordings struct {
	mu     sync.Mutex
	config config.Recordings
	bytes  int
	saver  *record.Saver
	rings  map[string]*record.Ring // by controller

	discovery atomic.Pointer[discovery.Client] // nil until there is one
}

func newRecordings(c *config.Recordings) (*recordings, error) {
	r := &recordings{rings: map[string]*record.Ring{}}
	return r, r.configure(c)
}

// kindOf returns a custom resource's kind, "" where the API server doesn't tell it soon.
func (r *recordings) kindOf(of abi.Resource) string {
	d := r.discovery.Load()
	if d == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), learning)
	defer cancel()
	res, err := d.Resource(ctx, of)
	if err != nil {
		klog.V(1).InfoS("A recording lacks a resource's kind", "resource", of.String(), "err", err)
		return ""
	}
	return res.Kind
}

// configure has the rings kept and saved as the configuration says. After an error all is as it was.
func (r *recordings) configure(c *config.Recordings) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if equality.Semantic.DeepEqual(*c, r.config) {
		return nil
	}

	saver := r.saver
	if was := r.config; c.Folder != was.Folder || c.FolderFiles != was.FolderFiles ||
		c.FolderBytes.Cmp(was.FolderBytes) != 0 {
		saver = nil
		if c.Folder != "" {
			var err error
			if saver, err = record.NewSaver(record.SaverOptions{Folder: c.Folder, Files: int(c.FolderFiles),
				Bytes: c.FolderBytes.Value(), Kind: r.kindOf}); err != nil {
				return fmt.Errorf("recordings.folder: %w", err)
			}
		}
	}

	bytes := int(c.Bytes.Value())
	if bytes == 0 {
		bytes = -1
	}

	for _, x := range r.rings {
		x.Resize(bytes)
		if saver != r.saver {
			r.saver.Forget(x)
			saver.Watch(x)
		}
	}

	if saver != r.saver {
		r.saver.Wait()
	}
	r.config, r.bytes, r.saver = *c, bytes, saver
	return nil
}

// waitForSaves waits for what is being saved.
func (r *recordings) waitForSaves() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saver.Wait()
}

// ringFor returns a controller's ring, which outlives the versions of its plugin.
func (r *recordings) ringFor(controller string) *record.Ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.rings[controller]
	if x == nil {
		x = record.NewRing(controller, r.bytes)
		r.saver.Watch(x)
		r.rings[controller] = x
	}
	return x
}

func (r *recordings) allRings() []*record.Ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sortedValues(r.rings)
}
