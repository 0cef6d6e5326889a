package config

import (
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds of what can be configured.
const (
	memoryMin   = 1 << 20
	memoryMax   = 1 << 30 // as sandbox.MaxMemoryLimit
	deadlineMin = time.Millisecond
	workersMax  = 1000
	deletesMax  = 100_000
	logBytesMax = 64 << 20

	logBytes = 64 << 10 // a plugin's default, as sandbox.DefaultLogPerSec

	totalMin  = 64 << 20
	heldBytes = 512 << 20 // a plugin's default
)

// Validate returns all that is wrong as one error; each part of it names the path of a field, as in
// "plugins[0].workers".
//
// What can only be known once the plugins are is checked with them: controllers' names by [CheckNames], plugins' names
// and settings by host/plugins.
func (c *Configuration) Validate() error {
	var errs field.ErrorList
	add := func(e *field.Error) {
		if e != nil {
			errs = append(errs, e)
		}
	}

	add(mustBe(field.NewPath("apiVersion"), c.APIVersion, APIVersion))
	add(mustBe(field.NewPath("kind"), c.Kind, Kind))
	client := field.NewPath("clientConnection")
	if c.ClientConnection.QPS <= 0 {
		add(field.Invalid(client.Child("qps"), c.ClientConnection.QPS, "must be more than 0"))
	}
	if c.ClientConnection.Burst <= 0 {
		add(field.Invalid(client.Child("burst"), c.ClientConnection.Burst, "must be more than 0"))
	}

	for i, name := range c.Controllers {
		if strings.TrimPrefix(name, "-") == "" || strings.TrimSpace(name) != name {
			add(field.Invalid(field.NewPath("controllers").Index(i), name,
				`must be "*", a controller's name, or a name with "-" before it`))
		}
	}

	errs = append(errs, c.Serving.validate(field.NewPath("serving"))...)
	if d := c.ShutdownTimeout.Duration; d < 0 {
		add(field.Invalid(field.NewPath("shutdownTimeout"), d.String(),
			"must be more than 0s, or 0s for as long as it takes"))
	}
	if d := c.MinResyncPeriod.Duration; d < 0 {
		add(field.Invalid(field.NewPath("minResyncPeriod"), d.String(), "must be more than 0s, or 0s for no resync"))
	}

	if c.PluginFolder != "" {
		if info, err := os.Stat(c.PluginFolder); err != nil {
			add(field.Invalid(field.NewPath("pluginFolder"), c.PluginFolder,
				err.Error()+": make the folder, or remove the field"))
		} else if !info.IsDir() {
			add(field.Invalid(field.NewPath("pluginFolder"), c.PluginFolder,
				"is a file: name the folder that holds the *.wasm files"))
		}
	}

	errs = append(errs, c.Sandbox.Limits.validate(field.NewPath("sandbox"), false)...)
	if b := c.Sandbox.TotalMemory; b.Value() < totalMin {
		add(field.Invalid(field.NewPath("sandbox", "totalMemory"), b.String(), "must be at least 64Mi"))
	}
	if rest := c.Sandbox.Rest.Duration; rest != 0 && rest < time.Second {
		add(field.Invalid(field.NewPath("sandbox", "rest"), rest.String(), "must be at least 1s, or 0s for never"))
	}
	errs = append(errs, c.Signing.validate(field.NewPath("signing"), c.SignsCertificates())...)
	errs = append(errs, c.Registries.validate(field.NewPath("registries"))...)
	errs = append(errs, c.Recordings.validate(field.NewPath("recordings"))...)
	errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	errs = append(errs, c.Logging.validate(field.NewPath("logging"))...)
	errs = append(errs, c.Tracing.validate(field.NewPath("tracing"))...)

	first, files := map[string]int{}, map[string]int{}
	for i := range c.Plugins {
		p := field.NewPath("plugins").Index(i)
		errs = append(errs, c.Plugins[i].validate(p)...)
		name := c.Plugins[i].Name
		if at, twice := first[name]; twice && name != "" {
			add(&field.Error{Type: field.ErrorTypeDuplicate, Field: p.Child("name").String(), BadValue: name,
				Detail: fmt.Sprintf("plugins[%d] configures it already: merge the two", at)})
		}
		first[name] = i

		file := c.Plugins[i].File
		if file == "" {
			continue
		}
		if c.PluginFolder == "" {
			add(field.Invalid(p.Child("file"), file, "needs pluginFolder, the folder that holds the file"))
		}
		if at, twice := files[file]; twice {
			add(&field.Error{Type: field.ErrorTypeDuplicate, Field: p.Child("file").String(), BadValue: file,
				Detail: fmt.Sprintf("plugins[%d] names it already: a file is one plugin", at)})
		}
		files[file] = i
	}

	if err := errs.ToAggregate(); err != nil {
		return err
	}
	return nil
}

func mustBe(p *field.Path, got, want string) *field.Error {
	switch got {
	case want:
		return nil
	case "":
		return field.Required(p, "write "+p.String()+": "+want)
	}
	return field.NotSupported(p, got, []string{want})
}

// validate checks limits; inherit allows zero, which stands for the sandbox's.
func (l *Limits) validate(p *field.Path, inherit bool) (errs field.ErrorList) {
	if m := l.Memory.Value(); (m < memoryMin || m > memoryMax) && !(inherit && l.Memory.IsZero()) {
		errs = append(errs, field.Invalid(p.Child("memory"), l.Memory.String(), "must be from 1Mi to 1Gi"))
	}
	if d := l.Deadline.Duration; d < deadlineMin && !(inherit && d == 0) {
		errs = append(errs, field.Invalid(p.Child("deadline"), d.String(), "must be at least 1ms"))
	}
	if l.Fuel < 1 && !(inherit && l.Fuel == 0) {
		errs = append(errs, field.Invalid(p.Child("fuel"), l.Fuel, "must be more than 0"))
	}
	return errs
}

// validateWorkers checks the number at p's workers, whose default is the one that is there.
func validateWorkers(p *field.Path, n int32, there string) (errs field.ErrorList) {
	if n < 0 || n > workersMax {
		errs = append(errs, field.Invalid(p.Child("workers"), n,
			fmt.Sprintf("must be from 1 to %d, or 0 for the number %s", workersMax, there)))
	}
	return errs
}

func (c *Plugin) validateControllers(p *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i := range c.Controllers {
		x, at := &c.Controllers[i], p.Index(i)
		switch {
		case x.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "name the controller that this configures"))
		case seen[x.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), x.Name))
		}
		seen[x.Name] = true
		errs = append(errs, validateWorkers(at, x.Workers, "of the plugin")...)
	}
	return errs
}

func (c *Plugin) validate(p *field.Path) field.ErrorList {
	errs := c.Limits.validate(p.Child("limits"), true)
	if c.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), "name the plugin that this configures"))
	}

	errs = append(errs, validateWorkers(p, c.Workers, "in the plugin's manifest")...)
	errs = append(errs, c.validateControllers(p.Child("controllers"))...)

	if c.API.QPS < 0 {
		errs = append(errs, field.Invalid(p.Child("api", "qps"), c.API.QPS,
			"must be more than 0, or 0 for that of clientConnection"))
	}

	if c.API.Burst < 0 {
		errs = append(errs, field.Invalid(p.Child("api", "burst"), c.API.Burst,
			"must be more than 0, or 0 for that of clientConnection"))
	}

	if c.Budget.DeletesPerMinute < 0 || c.Budget.DeletesPerMinute > deletesMax {
		errs = append(errs, field.Invalid(p.Child("budget", "deletesPerMinute"), c.Budget.DeletesPerMinute,
			fmt.Sprintf("must be from 1 to %d, or 0 for no bound", deletesMax)))
	}

	if b := c.Budget.Memory.Value(); b != 0 && b < memoryMin {
		errs = append(errs, field.Invalid(p.Child("budget", "memory"), c.Budget.Memory.String(),
			"must be at least 1Mi, or 0 for the default"))
	}
	if b := c.Budget.LogBytesPerSecond.Value(); b < 0 || b > logBytesMax {
		errs = append(errs, field.Invalid(p.Child("budget", "logBytesPerSecond"), c.Budget.LogBytesPerSecond.String(),
			"must be from 1 to 64Mi, or 0 for the default"))
	}

	if c.ServiceAccount != "" {
		if why := validation.IsDNS1123Subdomain(c.ServiceAccount); len(why) > 0 {
			errs = append(errs, field.Invalid(p.Child("serviceAccount"), c.ServiceAccount,
				"must be a service account's name: "+strings.Join(why, "; ")))
		}
		if c.Impersonate.Username() != "" {
			errs = append(errs, field.Invalid(p.Child("serviceAccount"), c.ServiceAccount,
				"can't be set together with impersonate, which already says as whom the plugin writes"))
		}
	}

	errs = append(errs, c.validateFile(p)...)
	errs = append(errs, c.validateImage(p)...)
	for i := range c.Grant {
		errs = append(errs, c.Grant[i].validate(p.Child("grant").Index(i))...)
	}
	return append(errs, c.Impersonate.validate(p.Child("impersonate"))...)
}
