package podtemplate

import (
	"strings"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// Default fills in what a template leaves out with the API's defaults, as upstream's controllers have them built in
// (SetObjectDefaults_StatefulSet in pkg/apis/apps/v1). Neither a pod's own defaults nor anything that admission adds is
// among them. Amounts must be written as the API server writes them.
//
// differential/statefulset holds this against upstream's functions on random templates: a field that gets a default in
// another version of Kubernetes shows there.
func Default(t *corev1.PodTemplateSpec) {
	wire.Walk(unsafe.Pointer(t), &corev1.PodTemplateSpecTable, fillStruct)
}

// fillStruct sets in one struct of a template what has a default.
func fillStruct(p unsafe.Pointer, t *wire.Type) {
	switch t {
	case &corev1.PodSpecTable:
		x := (*corev1.PodSpec)(p)
		setDefault(&x.ServiceAccountName, x.DeprecatedServiceAccount)
		x.DeprecatedServiceAccount = x.ServiceAccountName // an older name of the same
		setDefault(&x.DNSPolicy, corev1.DNSClusterFirst)
		setDefault(&x.RestartPolicy, corev1.RestartPolicyAlways)
		setDefault(&x.SchedulerName, corev1.DefaultSchedulerName)
		setDefaultPointer(&x.SecurityContext, corev1.PodSecurityContext{})
		setDefaultPointer(&x.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
		roundUp(x.Overhead)
	case &corev1.ContainerTable:
		x := (*corev1.Container)(p)
		container(x.Image, &x.ImagePullPolicy, &x.TerminationMessagePath, &x.TerminationMessagePolicy)
	case &corev1.EphemeralContainerCommonTable:
		x := (*corev1.EphemeralContainerCommon)(p)
		container(x.Image, &x.ImagePullPolicy, &x.TerminationMessagePath, &x.TerminationMessagePolicy)
	case &corev1.ContainerPortTable:
		setDefault(&(*corev1.ContainerPort)(p).Protocol, corev1.ProtocolTCP)
	case &corev1.ProbeTable:
		x := (*corev1.Probe)(p)
		setDefault(&x.TimeoutSeconds, 1)
		setDefault(&x.PeriodSeconds, 10)
		setDefault(&x.SuccessThreshold, 1)
		setDefault(&x.FailureThreshold, 3)
	case &corev1.HTTPGetActionTable:
		x := (*corev1.HTTPGetAction)(p)
		setDefault(&x.Path, "/")
		setDefault(&x.Scheme, corev1.URISchemeHTTP)
	case &corev1.GRPCActionTable:
		setDefaultPointer(&(*corev1.GRPCAction)(p).Service, "")
	case &corev1.ObjectFieldSelectorTable:
		setDefault(&(*corev1.ObjectFieldSelector)(p).APIVersion, "v1")
	case &corev1.FileKeySelectorTable:
		setDefaultPointer(&(*corev1.FileKeySelector)(p).Optional, false)
	case &corev1.ResourceRequirementsTable:
		x := (*corev1.ResourceRequirements)(p)
		roundUp(x.Limits)
		roundUp(x.Requests)
	default:
		fillVolume(p, t)
	}
}

// fillVolume gives one struct of a template's volumes its defaults.
func fillVolume(p unsafe.Pointer, t *wire.Type) {
	switch t {
	case &corev1.VolumeSourceTable:
		if x := (*corev1.VolumeSource)(p); *x == (corev1.VolumeSource{}) {
			x.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	case &corev1.HostPathVolumeSourceTable:
		setDefaultPointer(&(*corev1.HostPathVolumeSource)(p).Type, corev1.HostPathUnset)
	case &corev1.SecretVolumeSourceTable:
		setDefaultPointer(&(*corev1.SecretVolumeSource)(p).DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case &corev1.ConfigMapVolumeSourceTable:
		setDefaultPointer(&(*corev1.ConfigMapVolumeSource)(p).DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case &corev1.DownwardAPIVolumeSourceTable:
		setDefaultPointer(&(*corev1.DownwardAPIVolumeSource)(p).DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
	case &corev1.ProjectedVolumeSourceTable:
		setDefaultPointer(&(*corev1.ProjectedVolumeSource)(p).DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	case &corev1.ServiceAccountTokenProjectionTable:
		setDefaultPointer(&(*corev1.ServiceAccountTokenProjection)(p).ExpirationSeconds, 60*60)
	case &corev1.ISCSIVolumeSourceTable:
		setDefault(&(*corev1.ISCSIVolumeSource)(p).ISCSIInterface, "default")
	case &corev1.RBDVolumeSourceTable:
		x := (*corev1.RBDVolumeSource)(p)
		setDefault(&x.RBDPool, "rbd")
		setDefault(&x.RadosUser, "admin")
		setDefault(&x.Keyring, "/etc/ceph/keyring")
	case &corev1.AzureDiskVolumeSourceTable:
		x := (*corev1.AzureDiskVolumeSource)(p)
		setDefaultPointer(&x.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setDefaultPointer(&x.FSType, "ext4")
		setDefaultPointer(&x.ReadOnly, false)
		setDefaultPointer(&x.Kind, corev1.AzureSharedBlobDisk)
	case &corev1.ScaleIOVolumeSourceTable:
		x := (*corev1.ScaleIOVolumeSource)(p)
		setDefault(&x.StorageMode, "ThinProvisioned")
		setDefault(&x.FSType, "xfs")
	case &corev1.PersistentVolumeClaimSpecTable:
		setDefaultPointer(&(*corev1.PersistentVolumeClaimSpec)(p).VolumeMode, corev1.PersistentVolumeFilesystem)
	case &corev1.VolumeResourceRequirementsTable:
		x := (*corev1.VolumeResourceRequirements)(p)
		roundUp(x.Limits)
		roundUp(x.Requests)
	case &corev1.ImageVolumeSourceTable:
		x := (*corev1.ImageVolumeSource)(p)
		setDefault(&x.PullPolicy, pullPolicy(x.Reference))
	}
}

func container(image string, pull *corev1.PullPolicy, path *string, policy *corev1.TerminationMessagePolicy) {
	setDefault(pull, pullPolicy(image))
	setDefault(path, corev1.TerminationMessagePathDefault)
	setDefault(policy, corev1.TerminationMessageReadFile)
}

// setDefault sets a field that isn't set.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDefaultPointer sets a field that points nowhere. One that points to a zero value is set.
func setDefaultPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// pullPolicy is when an image is pulled: each time if its tag is "latest", also for want of another one. A digest needs
// no tag, and what is no name of an image has none.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, digested := strings.Cut(image, "@")
	// before the last slash it would be a port
	slash := strings.LastIndexByte(name, '/') + 1
	last, tag, tagged := strings.Cut(name[slash:], ":")
	if !isImageName(name[:slash] + last) {
		return corev1.PullIfNotPresent
	}
	if tag == "latest" || !tagged && !digested {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// isImageName reports whether text names an image, without tag and digest: a path, behind a host where its first part
// looks like one (distribution/reference, ParseNormalizedNamed).
func isImageName(text string) bool {
	first, rest, behind := strings.Cut(text, "/")
	if behind && (strings.IndexByte(first, '.') >= 0 || strings.IndexByte(first, ':') >= 0 ||
		first == "localhost" || hasCapital(first)) {
		if !isHost(first) {
			return false
		}
		text = rest
	}

	for text != "" || behind {
		var part string
		if part, text, behind = strings.Cut(text, "/"); hasCapital(part) || !isPathPart(part) {
			return false
		}
		if !behind {
			return true
		}
	}
	return false
}

// isHost reports whether text is a host, maybe with a port. What is in brackets is an address.
func isHost(text string) bool {
	if strings.HasPrefix(text, "[") {
		return true
	}
	host, port, ported := strings.Cut(text, ":")
	if ported && port == "" {
		return false
	}
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return false
		}
	}

	for more := true; more; {
		var part string
		if part, host, more = strings.Cut(host, "."); !isPathPart(part) || strings.IndexByte(part, '_') >= 0 {
			return false
		}
	}
	return true
}

// hasCapital reports whether text has a capital letter. strings.ToLower would bring Unicode's tables into the module.
func hasCapital(text string) bool {
	for _, c := range []byte(text) {
		if c >= 'A' && c <= 'Z' {
			return true
		}
	}
	return false
}

// isPathPart reports whether text is a part of an image's path, or of a host, whatever the case of its letters: letters
// and digits, between which there may be a dot, one underscore or two, or hyphens.
func isPathPart(text string) bool {
	between := 0 // how many of the last bytes are neither letters nor digits: they are all the same
	for i, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			between = 0
			continue
		case c != '.' && c != '_' && c != '-' || i == 0 || between > 0 && text[i-1] != c:
			return false
		}
		if between++; c == '.' && between > 1 || c == '_' && between > 2 {
			return false
		}
	}
	return text != "" && between == 0
}

// The units of an amount, each a thousand of the one before it, in either way of writing them.
var (
	suffixes  = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
	exponents = [...]string{"e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18"}
)

const thousandth = 2 // the index of its unit

// roundUp takes amounts that are no whole thousandths to the next one away from zero.
func roundUp(list corev1.ResourceList) {
	for i := range list {
		q := &list[i].Value
		for unit := range thousandth {
			for _, units := range [...]*[10]string{&suffixes, &exponents} {
				if number, ok := strings.CutSuffix(q.Text, units[unit]); ok {
					q.Text = raiseToUnit(number, units, unit)
				}
			}
		}
	}
}

// raiseToUnit writes a whole number of a unit in thousandths, one more where it is more than whole ones, and then in
// the largest unit of which it is a whole number.
func raiseToUnit(number string, units *[10]string, unit int) string {
	digits := strings.TrimPrefix(number, "-")
	sign := number[:len(number)-len(digits)]
	digits = "0000000"[:max(0, 7-len(digits))] + digits // so that there is one before the point
	point := len(digits) - 3*(thousandth-unit)
	whole := []byte("0" + digits[:point])
	if strings.Trim(digits[point:], "0") != "" {
		i := len(whole) - 1
		for ; whole[i] == '9'; i-- {
			whole[i] = '0'
		}
		whole[i]++
	}
	text := strings.TrimLeft(string(whole), "0")
	unit = thousandth
	for strings.HasSuffix(text, "000") && unit < len(units)-1 {
		text = text[:len(text)-3]
		unit++
	}
	return sign + text + units[unit]
}
