package cleaner

import (
	"context"
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/utils/clock"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/cleaner"
)

//go:linkname evaluate k8s.io/kubernetes/pkg/controller/serviceaccount.(*LegacySATokenCleaner).evaluateSATokens
func evaluate(*upstream.LegacySATokenCleaner, context.Context)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	accounts   = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)

const (
	tracking     = "kube-apiserver-legacy-service-account-token-tracking"
	lastUsed     = "kubernetes.io/legacy-token-last-used"
	invalidSince = "kubernetes.io/legacy-token-invalid-since"
	// period is how long tokens are unused before they go: short, so that in a world they are some days old.
	period = 60 * time.Hour
)

// timer is the key of a controller that has but one.
const timer = "timer"

// Upstream's controller has no keys: once a day it looks at all tokens, as the plugin does.
func TestLegacyTokensAsUpstream(t *testing.T) {
	differential.Run(t, &differential.Subject{
		Controller: "legacy-serviceaccount-token-cleaner-controller",
		Plugin:     cleaner.Plugin,
		Settings:   map[string]string{"legacy-service-account-token-clean-up-period": period.String()},
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewLegacySATokenCleaner(f.ServiceAccounts(), f.Secrets(), f.Pods(), e.Client, clock.RealClock{},
				upstream.LegacySATokenCleanerOptions{CleanUpPeriod: period, SyncInterval: 24 * time.Hour})
			p := &struct {
				queue workqueue.TypedRateLimitingInterface[string]
			}{}
			return &native.Made{Controller: p, Process: func(ctx context.Context) bool {
				key, _ := p.queue.Get()
				evaluate(c, ctx)
				p.queue.Done(key)
				return true
			}}, err
		},
		World: legacyObjects,
		// tokens come as a map has them
		Aside: func(_ *api.Cluster, q *api.Request) string { return q.Namespace + "/" + q.Name },
		Deeds: []differential.Deed{
			differential.Vary(secrets, "another life", func(r *world.Rand, s *corev1.Secret) { liveToken(r, s) }),
			differential.Vary(secrets, "the end", func(r *world.Rand, s *corev1.Secret) { r.End(s) }),
			differential.Vary(secrets, "the mark taken away", func(_ *world.Rand, s *corev1.Secret) {
				delete(s.Labels, invalidSince)
			}),
			differential.Delete(secrets),
			differential.Vary(accounts, "other tokens", func(r *world.Rand, a *corev1.ServiceAccount) { listTokens(r, a) }),
			differential.Vanish(accounts),
			differential.Vary(configMaps, "another day", func(r *world.Rand, m *corev1.ConfigMap) { track(r, m) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return podWithSecrets(r, r.IntN(8)) }),
			differential.Vanish(differential.Pods),
		},
	})
}

func legacyObjects(r *world.Rand) []runtime.Object {
	all := []runtime.Object{r.Namespace(metav1.NamespaceSystem), r.Namespace("one"),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "one", UID: "uid-default"}}}
	if !r.One(20) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tracking, Namespace: metav1.NamespaceSystem,
			UID: r.UID()}}
		track(r, m)
		all = append(all, m)
	}
	for _, ns := range []string{world.Namespace, "one"} {
		if r.One(4) {
			continue
		}
		a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: ns, UID: "uid-robot"}}
		listTokens(r, a)
		all = append(all, a)
		for i := range r.IntN(4) {
			all = append(all, legacyToken(r, ns, i))
		}
	}
	for i := range r.IntN(3) {
		all = append(all, podWithSecrets(r, i))
	}
	return all
}

// track has uses been noted since some day.
func track(r *world.Rand, m *corev1.ConfigMap) {
	m.Data = map[string]string{"since": day(r)}
	if r.One(30) {
		m.Data = map[string]string{world.Of(r, "since", "other"): world.Of(r, "", "yesterday", "1999-12-01T00:00:00Z")}
	}
}

// day is one of the last days, of which some are within the period.
func day(r *world.Rand) string {
	return r.Ago(7 * 24 * 3600).Format(time.DateOnly)
}

func legacyToken(r *world.Rand, namespace string, i int) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("token-%d", i), Namespace: namespace, UID: r.UID()},
		Type:       corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte("secret")}}
	s.CreationTimestamp = r.Ago(7 * 24 * 3600)
	if r.One(8) {
		s.CreationTimestamp = metav1.NewTime(r.Ago(0).Add(-period))
	}
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: world.Of(r, "robot", "robot", "robot", "robot", "default",
		"nobody")}
	if !r.One(3) {
		s.Annotations[corev1.ServiceAccountUIDKey] = world.Of(r, "uid-robot", "uid-robot", "uid-robot", "uid-other", "")
	}
	if r.One(8) {
		s.Type = corev1.SecretTypeOpaque
	}
	liveToken(r, s)
	if r.One(10) {
		r.End(s)
	}
	return s
}

// liveToken has a token been used and marked, or not.
func liveToken(r *world.Rand, s *corev1.Secret) {
	s.Labels = nil
	mark := func(label string) {
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[label] = day(r)
		if r.One(10) {
			s.Labels[label] = world.Of(r, "", "1999-12-27-1", "yesterday", "1999-13-01", "1999-2-01", "1999-02-30", "19991227")
		}
	}
	if r.One(2) {
		mark(lastUsed)
	}
	if r.One(2) {
		mark(invalidSince)
	}
}

func listTokens(r *world.Rand, a *corev1.ServiceAccount) {
	a.Secrets = nil
	for i := range 4 {
		if !r.One(4) {
			a.Secrets = append(a.Secrets, corev1.ObjectReference{Name: fmt.Sprintf("token-%d", i)})
		}
	}
}

// podWithSecrets is a pod that names a Secret in one of the places in which it can.
func podWithSecrets(r *world.Rand, i int) *corev1.Pod {
	p := r.Pod(fmt.Sprintf("pod-%d", i), r.Labels("web"), r.PodSpec())
	p.Namespace = world.Of(r, world.Namespace, "one")
	name := fmt.Sprintf("token-%d", r.IntN(4))
	ref := corev1.LocalObjectReference{Name: name}
	env := corev1.EnvVar{Name: "T", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: ref, Key: "token"}}}
	from := corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref}}

	volume := corev1.VolumeSource{}
	switch r.IntN(16) {
	case 0:
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "other"}, ref}
	case 1:
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, env)
	case 2:
		p.Spec.Containers[0].EnvFrom = append(p.Spec.Containers[0].EnvFrom, from)
	case 3:
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "first", Image: "first",
			Env: []corev1.EnvVar{env}, ImagePullPolicy: corev1.PullAlways,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile})
	case 4:
		volume.AzureFile = &corev1.AzureFileVolumeSource{SecretName: name, ShareName: "s"}
	case 5:
		volume.CephFS = &corev1.CephFSVolumeSource{Monitors: []string{"m"}, SecretRef: &ref}
	case 6:
		volume.Cinder = &corev1.CinderVolumeSource{VolumeID: "v", SecretRef: &ref}
	case 7:
		volume.FlexVolume = &corev1.FlexVolumeSource{Driver: "d", SecretRef: &ref}
	case 8:
		volume.Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			Secret: &corev1.SecretProjection{LocalObjectReference: ref}}}}
	case 9:
		volume.RBD = &corev1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i", SecretRef: &ref}
	case 10:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: name}
	case 11:
		volume.ScaleIO = &corev1.ScaleIOVolumeSource{Gateway: "g", System: "s", VolumeName: "v", SecretRef: &ref}
	case 12:
		volume.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "127.0.0.1:3260", IQN: "iqn.2001-04.com.example:s",
			SecretRef: &ref}
	case 13:
		volume.StorageOS = &corev1.StorageOSVolumeSource{VolumeName: "v", SecretRef: &ref}
	case 14:
		volume.CSI = &corev1.CSIVolumeSource{Driver: "d", NodePublishSecretRef: &ref}
	case 15:
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}
	}
	if volume != (corev1.VolumeSource{}) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: volume})
	}
	return p
}
