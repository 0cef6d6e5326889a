package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/windlass-dev/windlass/config/kcm"
)

// LeaderElection says which of several processes runs the controllers: the one that holds the Lease. The controllers of
// a group are run by the process that holds the group's Lease. It is read at the start only.
type LeaderElection struct {
	// LeaderElect runs controllers only while this process holds their Lease. Default: true.
	LeaderElect bool `json:"leaderElect"`
	// LeaseDuration is how long other processes leave a Lease alone that isn't renewed, from the last renewal that they
	// have seen: whole seconds, at least 1s. Default: 15s.
	LeaseDuration metav1.Duration `json:"leaseDuration"`
	// RenewDeadline is for how long the holder tries to renew a Lease before it stops the controllers: less than
	// leaseDuration. Default: 10s.
	RenewDeadline metav1.Duration `json:"renewDeadline"`
	// RetryPeriod is the time between attempts to acquire or renew the Lease. renewDeadline must be more than 1.2 times as
	// long. Default: 2s.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
	// ResourceNamespace is the namespace of all Leases. In another namespace than the default one the manager needs a role
	// for them, which `windlass rbac` prints: get, create, update, list and watch. Default: kube-system.
	ResourceNamespace string `json:"resourceNamespace"`
	// ResourceName is the name of the Lease of all controllers that are in no group. Default: kube-controller-manager, so
	// that either manager takes over from the other.
	ResourceName string `json:"resourceName"`
	// Groups are groups of controllers, each with a Lease of its own, so that several processes share the controllers.
	// Default: none.
	Groups []LeaderGroup `json:"groups"`
	// Standby says what a process does while it waits: "warm" keeps the caches of all controllers filled and their modules
	// loaded, "cold" does nothing but watch the Lease. Default: cold.
	Standby string `json:"standby"`
	// Guardian starts a small process beside the manager that gives up the Leases when the manager is killed or crashes,
	// as soon as none of its writes can be under way any more. Without it the Leases expire. On Linux only. Default: true.
	Guardian bool `json:"guardian"`
}

// LeaderGroup is a Lease with the controllers that its holder runs.
type LeaderGroup struct {
	// Name is the group's name, as it is shown. Required.
	Name string `json:"name"`
	// LeaseName is the name of its Lease. Default: that of resourceName, "-", and the group's name.
	LeaseName string `json:"leaseName"`
	// Controllers are names of controllers or their aliases. Required.
	Controllers []string `json:"controllers"`
}

// What leaderElection.standby may be.
const (
	StandbyCold = "cold"
	StandbyWarm = "warm"
)

// As client-go has it (tools/leaderelection, JitterFactor).
const retryJitter = 1.2

// mainGroup is the name of the group of all controllers that no other group names.
const mainGroup = "main"

func defaultLeaderElection() LeaderElection {
	seconds := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
	return LeaderElection{
		LeaderElect: true, LeaseDuration: seconds(15), RenewDeadline: seconds(10), RetryPeriod: seconds(2),
		ResourceNamespace: "kube-system", ResourceName: "kube-controller-manager", Standby: StandbyCold, Guardian: true,
	}
}

// All returns all groups with their Leases' names: first that of the controllers that no other names.
func (l *LeaderElection) All() []LeaderGroup {
	all := []LeaderGroup{{Name: mainGroup, LeaseName: l.ResourceName}}
	for _, g := range l.Groups {
		if g.LeaseName == "" {
			g.LeaseName = l.ResourceName + "-" + g.Name
		}
		all = append(all, g)
	}
	return all
}

// Group returns the index in [LeaderElection.All] of a controller's group; aliases are by alias.
func (l *LeaderElection) Group(controller string, aliases map[string]string) int {
	for i, g := range l.Groups {
		if slices.Contains(Canonical(g.Controllers, aliases), controller) {
			return i + 1
		}
	}
	return 0
}

// CheckGroups returns an error for each name in groups that is no controller's, and for each controller that is in two
// of them by two names.
func (l *LeaderElection) CheckGroups(names []string, aliases map[string]string) error {
	if !l.LeaderElect {
		return nil
	}
	var errs []error
	in := map[string]string{}
	for i, g := range l.Groups {
		for j, name := range g.Controllers {
			path := fmt.Sprintf("leaderElection.groups[%d].controllers[%d]", i, j)
			if strings.HasPrefix(name, "-") || name == "*" {
				errs = append(errs, fmt.Errorf("%s: %q: name a controller", path, name))
				continue
			}
			if err := CheckNames([]string{name}, names, aliases); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "controllers[0]: ")))
				continue
			}
			c := Canonical([]string{name}, aliases)[0]
			if before := in[c]; before != "" {
				errs = append(errs, fmt.Errorf("%s: %s is in %s already: a controller is in one group", path, c, before))
			}
			in[c] = path
		}
	}
	return errors.Join(errs...)
}

func (l *LeaderElection) validate(p *field.Path) (errs field.ErrorList) {
	if !l.LeaderElect {
		return nil
	}
	positive := func(name string, d metav1.Duration) {
		if d.Duration <= 0 {
			errs = append(errs, field.Invalid(p.Child(name), d.Duration.String(), "must be more than 0"))
		}
	}

	positive("renewDeadline", l.RenewDeadline)
	positive("retryPeriod", l.RetryPeriod)
	switch d := l.LeaseDuration.Duration; {
	case d < time.Second || d%time.Second != 0:
		errs = append(errs, field.Invalid(p.Child("leaseDuration"), d.String(),
			"must be whole seconds, at least 1s: a Lease counts in seconds"))
	case d <= l.RenewDeadline.Duration:
		errs = append(errs, field.Invalid(p.Child("leaseDuration"), d.String(),
			"must be more than renewDeadline, "+l.RenewDeadline.Duration.String()))
	}

	if least := time.Duration(retryJitter * float64(l.RetryPeriod.Duration)); l.RenewDeadline.Duration > 0 &&
		l.RenewDeadline.Duration <= least {
		errs = append(errs, field.Invalid(p.Child("renewDeadline"), l.RenewDeadline.Duration.String(),
			fmt.Sprintf("must be more than 1.2 times retryPeriod, %v", least)))
	}

	if why := validation.IsDNS1123Label(l.ResourceNamespace); len(why) > 0 {
		errs = append(errs, field.Invalid(p.Child("resourceNamespace"), l.ResourceNamespace,
			"must be a namespace: "+strings.Join(why, "; ")))
	}

	if why := validation.IsDNS1123Subdomain(l.ResourceName); len(why) > 0 {
		errs = append(errs, field.Invalid(p.Child("resourceName"), l.ResourceName,
			"must be a Lease's name: "+strings.Join(why, "; ")))
	}
	if l.Standby != StandbyCold && l.Standby != StandbyWarm {
		errs = append(errs, field.NotSupported(p.Child("standby"), l.Standby, []string{StandbyCold, StandbyWarm}))
	}
	return append(errs, l.validateGroups(p.Child("groups"))...)
}

func (l *LeaderElection) validateGroups(p *field.Path) (errs field.ErrorList) {
	names, leases, controllers := map[string]string{mainGroup: "the group of all other controllers"},
		map[string]string{l.ResourceName: "leaderElection.resourceName"}, map[string]string{}
	once := func(in map[string]string, at *field.Path, value string) {
		if before := in[value]; before != "" {
			errs = append(errs, &field.Error{Type: field.ErrorTypeDuplicate, Field: at.String(), BadValue: value,
				Detail: "already used by " + before})
		}
		in[value] = at.String()
	}

	for i, g := range l.All()[1:] {
		at := p.Index(i)
		if why := validation.IsDNS1123Label(g.Name); len(why) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), g.Name, "must be a name: "+strings.Join(why, "; ")))
			continue
		}
		once(names, at.Child("name"), g.Name)
		if why := validation.IsDNS1123Subdomain(g.LeaseName); len(why) > 0 {
			errs = append(errs, field.Invalid(at.Child("leaseName"), g.LeaseName,
				"must be a Lease's name: "+strings.Join(why, "; ")))
		}
		once(leases, at.Child("leaseName"), g.LeaseName)
		if len(g.Controllers) == 0 {
			errs = append(errs, field.Required(at.Child("controllers"), "name the controllers of the group"))
		}
		for j, c := range g.Controllers {
			once(controllers, at.Child("controllers").Index(j), c)
			if Canonical([]string{c}, kcm.Aliases())[0] == tokenController {
				errs = append(errs, field.Invalid(at.Child("controllers").Index(j), c, "runs under the main Lease, "+
					"leaderElection.resourceName, with the manager's own identity: name it in no group"))
			}
		}
	}

	return errs
}
