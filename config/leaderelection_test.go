package config

import (
	"strings"
	"testing"
	"time"
)

func election(t *testing.T, text string) (*Configuration, error) {
	t.Helper()
	c, err := Decode([]byte("apiVersion: " + APIVersion + "\nkind: " + Kind + "\nleaderElection: " + text))
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Validate()
}

func TestLeaderElection(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              `{}`,
		"off, whatever else":   `{leaderElect: false, leaseDuration: 1ms}`,
		"short":                `{leaseDuration: 1s, renewDeadline: 500ms, retryPeriod: 100ms, standby: warm}`,
		"a group":              `{groups: [{name: workloads, controllers: [deployment, replicaset-controller]}]}`,
		"a migration's Lease":  `{groups: [{name: migration, leaseName: cloud-provider-extraction-migration, controllers: [route]}]}`,
		"another main Lease":   `{resourceName: other, resourceNamespace: windlass}`,
		"two groups, no clash": `{groups: [{name: a, controllers: [job]}, {name: b, controllers: [cronjob]}]}`,
	} {
		if _, err := election(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for text, want := range map[string]string{
		`{leaseDuration: 1500ms, renewDeadline: 1s, retryPeriod: 100ms}`: `leaderElection.leaseDuration: Invalid value: "1.5s": must be whole seconds`,
		`{leaseDuration: 0s}`:                                        `leaderElection.leaseDuration: Invalid value: "0s"`,
		`{leaseDuration: 10s}`:                                       `leaderElection.leaseDuration: Invalid value: "10s": must be more than renewDeadline, 10s`,
		`{renewDeadline: 2400ms}`:                                    `leaderElection.renewDeadline: Invalid value: "2.4s": must be more than 1.2 times retryPeriod, 2.4s`,
		`{renewDeadline: -1s}`:                                       `leaderElection.renewDeadline: Invalid value: "-1s": must be more than 0`,
		`{retryPeriod: 0s}`:                                          `leaderElection.retryPeriod: Invalid value: "0s": must be more than 0`,
		`{resourceNamespace: Kube}`:                                  `leaderElection.resourceNamespace: Invalid value: "Kube": must be a namespace`,
		`{resourceName: a/b}`:                                        `leaderElection.resourceName: Invalid value: "a/b": must be a Lease's name`,
		`{standby: hot}`:                                             `leaderElection.standby: Unsupported value: "hot": supported values: "cold", "warm"`,
		`{groups: [{controllers: [job]}]}`:                           `leaderElection.groups[0].name: Invalid value: ""`,
		`{groups: [{name: main, controllers: [job]}]}`:               `leaderElection.groups[0].name: Duplicate value: "main": already used by the group of all other controllers`,
		`{groups: [{name: a, controllers: [serviceaccount-token]}]}`: `leaderElection.groups[0].controllers[0]: Invalid value: "serviceaccount-token": runs under the main Lease`,
		`{groups: [{name: a, controllers: []}]}`:                     `leaderElection.groups[0].controllers: Required value: name the controllers`,
		`{groups: [{name: a, controllers: [job, job]}]}`:             `leaderElection.groups[0].controllers[1]: Duplicate value: "job": already used by leaderElection.groups[0].controllers[0]`,
		`{groups: [{name: a, leaseName: kube-controller-manager, controllers: [job]}]}`: `leaderElection.groups[0].leaseName: Duplicate value: "kube-controller-manager": already used by leaderElection.resourceName`,
		`{groups: [{name: a, controllers: [job]}, {name: a, controllers: [cronjob]}]}`:  `leaderElection.groups[1].name: Duplicate value: "a": already used by leaderElection.groups[0].name`,
		`{groups: [{name: a, controllers: [job]}, {name: b, controllers: [job]}]}`:      `leaderElection.groups[1].controllers[0]: Duplicate value: "job": already used by leaderElection.groups[0].controllers[0]`,
	} {
		if _, err := election(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestLeaderGroups(t *testing.T) {
	c, err := election(t, `{leaseDuration: 30s, groups: [{name: workloads, controllers: [deploy, replicaset-controller]}, {name: b, leaseName: other, controllers: [job]}]}`)
	if err != nil {
		t.Fatal(err)
	}

	l := c.LeaderElection
	if l.LeaseDuration.Duration != 30*time.Second || l.RenewDeadline.Duration != 10*time.Second || !l.LeaderElect ||
		l.Standby != StandbyCold {
		t.Errorf("%+v", l)
	}
	aliases := map[string]string{"deploy": "deployment-controller"}
	names := []string{"deployment-controller", "replicaset-controller", "job", "ttl"}

	for controller, lease := range map[string]string{
		"deployment-controller": "kube-controller-manager-workloads",
		"replicaset-controller": "kube-controller-manager-workloads", "job": "other", "ttl": "kube-controller-manager",
	} {
		if got := l.All()[l.Group(controller, aliases)].LeaseName; got != lease {
			t.Errorf("%s: Lease %s, want %s", controller, got, lease)
		}
	}

	if err := l.CheckGroups(names, aliases); err != nil {
		t.Error(err)
	}
	l.Groups[1].Controllers = []string{"jobb", "deployment-controller", "*"}

	err = l.CheckGroups(names, aliases)
	for _, want := range []string{
		`leaderElection.groups[1].controllers[0]: "jobb" is not in the list of known controllers: did you mean job`,
		`leaderElection.groups[1].controllers[1]: deployment-controller is in leaderElection.groups[0].controllers[0] already`,
		`leaderElection.groups[1].controllers[2]: "*": name a controller`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %s", err, want)
		}
	}
}
