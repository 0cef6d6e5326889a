package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

const migrationHead = "apiVersion: controllermanager.config.k8s.io/v1beta1\nkind: LeaderMigrationConfiguration\n"

func TestMigrate(t *testing.T) {
	file := saveText(t, migrationHead+`leaderName: moving
resourceLock: leases
controllerLeaders:
- {name: job-controller, component: kube-controller-manager}
- {name: deployment-controller, component: "*"}
- {name: node-ipam-controller, component: cloud-controller-manager}
- {name: route-controller, component: kube-controller-manager}
- {name: serviceaccount-token-controller, component: kube-controller-manager}
`)

	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--enable-leader-migration", "--leader-migration-config=" + file,
		"--controllers=node-ipam-controller,*"}); err != nil {
		t.Fatal(err)
	}

	c, err := FromFlags(fs)
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]LeaderGroup{{Name: "migration", LeaseName: "moving",
		Controllers: []string{"job-controller", "deployment-controller"}}}, c.LeaderElection.Groups); d != "" {
		t.Errorf("groups, -want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{"-node-ipam-controller", "*"}, c.Controllers); d != "" {
		t.Errorf("controllers, -want +got:\n%s", d)
	}

	var told []string
	for _, n := range Notices(fs) {
		told = append(told, n.Flag)
	}
	if d := cmp.Diff([]string{"--enable-leader-migration for route-controller"}, told); d != "" {
		t.Errorf("notices, -want +got:\n%s", d)
	}
}

// Upstream's default is for controllers that only cloud providers have: nothing moves.
func TestMigrateByDefault(t *testing.T) {
	c, err := fromFlags(t, "--enable-leader-migration")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Default(), c); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if c, err = fromFlags(t, "--leader-migration-config=/nowhere"); err != nil || len(c.LeaderElection.Groups) > 0 {
		t.Errorf("a file that isn't asked for was read: %v", err)
	}
}

func TestMigrateRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "leader-migration-config"},
		"another kind":  {head, "no kind \"ControllerManagerConfiguration\""},
		"unknown field": {migrationHead + "leaderName: a\nresourceLock: leases\nfoo: 1\n", `unknown field "foo"`},
		"lock in v1": {strings.Replace(migrationHead, "v1beta1", "v1", 1) + "leaderName: a\nresourceLock: leases\n",
			`unknown field "resourceLock"`},
		"no name": {migrationHead + "resourceLock: leases\n", "leaderName: Required value"},
		"another lock": {migrationHead + "leaderName: a\nresourceLock: endpoints\n",
			`resourceLock: Unsupported value: "endpoints"`},
		"no component": {migrationHead +
			"leaderName: a\nresourceLock: leases\ncontrollerLeaders: [{name: job-controller}]\n",
			"controllerLeaders[0].component: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			path := saveText(t, c.text)
			_, err := fromFlags(t, "--enable-leader-migration", "--leader-migration-config="+path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("no %q with the file's name in: %v", c.want, err)
			}
		})
	}
}
