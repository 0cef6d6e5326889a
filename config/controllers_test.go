package config

import (
	"slices"
	"strings"
	"testing"
)

func TestEnabled(t *testing.T) {
	for _, c := range []struct {
		list     string
		name     string
		disabled bool
		want     bool
	}{
		{"*", "a", false, true},
		{"*", "a", true, false},
		{"a", "a", false, true},
		{"a", "b", false, false},
		{"a", "a", true, true},
		{"*,a", "a", true, true},
		{"*,-a", "a", false, false},
		{"-a,*", "a", false, false},
		{"a,-a", "a", false, true}, // the first match wins
		{"-a,a", "a", false, false},
		{"-a", "b", false, false}, // no star: nothing else is on
		{"", "a", false, false},
		{"*", "ab", false, true},
		{"-a,*", "ab", false, true}, // exact, no prefix
	} {
		if got := Enabled(c.name, strings.Split(c.list, ","), c.disabled); got != c.want {
			t.Errorf("Enabled(%s, [%s], disabled by default: %v) = %v", c.name, c.list, c.disabled, got)
		}
	}

	if Enabled("a", nil, false) {
		t.Error("an empty list turns something on")
	}
}

func TestCanonical(t *testing.T) {
	list := []string{"*", "-ttl", "job", "ttl", "other"}
	got := Canonical(list, map[string]string{"ttl": "ttl-controller", "job": "job-controller"})
	if want := []string{"*", "-ttl-controller", "job-controller", "ttl-controller", "other"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if list[1] != "-ttl" {
		t.Error("the list given was changed")
	}
}

func TestCheckNames(t *testing.T) {
	names := []string{"ttl-controller", "job-controller", "root-ca-certificate-publisher-controller"}
	aliases := map[string]string{"ttl": "ttl-controller", "job": "job-controller"}
	for list, want := range map[string]string{
		"*,-ttl,job-controller": "",
		"":                      `controllers[0]: "" is not in the list of known controllers: there are`,
		"*,jobs":                `controllers[1]: "jobs" is not in the list of known controllers: did you mean job?`,
		"-Job-Controller":       `controllers[0]: "Job-Controller" is not in the list of known controllers: did you mean job-controller?`,
		"root-ca":               `did you mean root-ca-certificate-publisher-controller?`,
		"rootca":                `did you mean root-ca-certificate-publisher-controller?`,
		"-*":                    `controllers[0]: "-*" isn't a way to disable all controllers`,
		"--ttl":                 `"-ttl" is not in the list of known controllers: did you mean ttl, ttl-controller?`,
		"cron-jobs":             `did you mean cronjob?`,
		"bootstrapsigner":       "", // kube-controller-manager's, of which there is none here
		"flights":               `there are job, job-controller, root-ca-certificate-publisher-controller, ttl, ttl-controller`,
	} {
		err := CheckNames(strings.Split(list, ","), names, aliases)
		switch {
		case want == "" && err != nil:
			t.Errorf("[%s]: %v", list, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("[%s]: got %v, want %s", list, err, want)
		}
	}

	err := CheckNames([]string{"x", "job", "y"}, names, aliases)
	if err == nil || !strings.Contains(err.Error(), "controllers[0]") || !strings.Contains(err.Error(), "controllers[2]") {
		t.Errorf("doesn't report both: %v", err)
	}
}
