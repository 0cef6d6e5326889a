// Package world makes random objects of the shapes that the API admits, and random events among them.
package world

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Namespace is the one in which nearly all is.
const Namespace = "default"

// Rand picks what a world is made of.
type Rand struct {
	*rand.Rand
	uids int
	now  time.Time // zero: by the clock
}

// NewRand returns the choices of a seed.
func NewRand(seed uint64) *Rand { return &Rand{Rand: rand.New(rand.NewPCG(seed, 17))} }

// One reports true once in n times.
func (r *Rand) One(n int) bool { return r.IntN(n) == 0 }

// Of returns one of some values.
func Of[T any](r *Rand, all ...T) T { return all[r.IntN(len(all))] }

// Maybe returns a pointer to a value, or nothing in one of three times.
func Maybe[T any](r *Rand, v T) *T {
	if r.One(3) {
		return nil
	}
	return &v
}

// Ptr returns a pointer to a value.
func Ptr[T any](v T) *T { return &v }

// UID returns one that no other object has.
func (r *Rand) UID() types.UID {
	r.uids++
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012d", r.Uint32(), r.uids))
}

// At has times be relative to that time, whatever the clock says.
func (r *Rand) At(now time.Time) *Rand {
	r.now = now
	return r
}

// Begin is when a bubble's clock begins, and so a world.
var Begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Ago returns a time up to some seconds ago, in whole seconds.
func (r *Rand) Ago(seconds int) metav1.Time {
	now := r.now
	if now.IsZero() {
		now = time.Now()
	}
	return metav1.NewTime(now.Add(-time.Duration(r.IntN(seconds+1)) * time.Second).UTC().Truncate(time.Second))
}

// Basics are what any namespace has in which pods can be made.
func Basics() []runtime.Object {
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, UID: "00000000-0000-4000-8000-00000000ffff"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: Namespace,
			UID: "00000000-0000-4000-8000-00000000fffe"}, AutomountServiceAccountToken: Ptr(false)},
	}
}

// Labels returns some of few labels, so that objects are often alike: app is the given one in most cases.
func (r *Rand) Labels(app string) map[string]string {
	l := map[string]string{"app": app}
	if r.One(6) {
		l["app"] = Of(r, "web", "db", "other")
	}
	if r.One(3) {
		l["tier"] = Of(r, "front", "back")
	}
	if r.One(12) {
		delete(l, "app")
	}
	return l
}

// Owner returns a reference of an object to its controller.
func Owner(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: Ptr(true),
		BlockOwnerDeletion: Ptr(true)}
}
