package config

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	internal "k8s.io/controller-manager/config"
	migration "k8s.io/controller-manager/pkg/leadermigration/config"
)

const (
	component      = "kube-controller-manager"
	migrationGroup = "migration"
)

// cloudControllers are those that leader migration was made for: they have left kube-controller-manager, whose list
// they aren't in, for cloud providers' own managers.
var cloudControllers = []string{"route-controller", "service-controller", "cloud-node-lifecycle-controller",
	"cloud-node-controller"}

// migrate does what --enable-leader-migration asks for (k8s.io/controller-manager/pkg/leadermigration): the controllers
// that the migration's configuration leaves to this component become a group with the migration's Lease, those that it
// leaves to others don't run.
func migrate(c *Configuration, fs *pflag.FlagSet) error {
	k, err := migrationOf(fs)
	if err != nil || k == nil {
		return err
	}
	group := LeaderGroup{Name: migrationGroup, LeaseName: k.LeaderName}
	for _, l := range k.ControllerLeaders {
		switch {
		case slices.Contains(cloudControllers, l.Name):
		case l.Name == tokenController: // is never migrated (startedLeading in cmd/kube-controller-manager/app)
		case l.Component == component || l.Component == "*":
			group.Controllers = append(group.Controllers, l.Name)
		default:
			c.Controllers = append([]string{"-" + l.Name}, slices.DeleteFunc(slices.Clone(c.Controllers), func(s string) bool {
				return s == l.Name
			})...)
		}
	}
	if len(group.Controllers) > 0 {
		c.LeaderElection.Groups = append(slices.Clone(c.LeaderElection.Groups), group)
	}
	return nil
}

// migrationOf reads the configuration of the migration that the flags ask for, if any.
func migrationOf(fs *pflag.FlagSet) (*internal.LeaderMigrationConfiguration, error) {
	if fs.Lookup("enable-leader-migration").Value.String() != "true" {
		return nil, nil
	}
	path := fs.Lookup("leader-migration-config").Value.String()
	if path == "" {
		return migration.DefaultLeaderMigrationConfiguration(), nil
	}
	k, err := migration.ReadLeaderMigrationConfiguration(path)
	if err != nil {
		return nil, fmt.Errorf("--leader-migration-config %s: %w", path, err)
	}
	errs := migration.ValidateLeaderMigrationConfiguration(k)
	if k.ResourceLock == migration.ResourceLockEndpoints {
		errs = append(errs, field.NotSupported(field.NewPath("resourceLock"), k.ResourceLock,
			[]string{migration.ResourceLockLeases}))
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("--leader-migration-config %s: %w", path, err)
	}
	return k, nil
}

// unmigrated reports of the controllers of a migration that there are none of here.
func unmigrated(fs *pflag.FlagSet) (all []Notice) {
	k, err := migrationOf(fs)
	if err != nil || k == nil {
		return nil // FromFlags has said it
	}
	for _, l := range k.ControllerLeaders {
		if slices.Contains(cloudControllers, l.Name) {
			all = append(all, Notice{"--enable-leader-migration for " + l.Name,
				"it is a controller of cloud providers, which run in a manager of their own"})
		}
	}
	return all
}
