package state

import "time"

// Status is the whole of a process: what runs, what doesn't, and what is wrong.
type Status struct {
	Process ProcessStatus `json:"process"`
	// Troubles are what is wrong, the worst first.
	Troubles    []Trouble          `json:"troubles"`
	Controllers []ControllerStatus `json:"controllers"`
	// Absent are the controllers that kube-controller-manager or a plugin has, and that don't run here, by name.
	Absent []Absent `json:"absent"`
	// Ending are namespaces that are being deleted, those that have been so for longest first, as of the last time that
	// was asked for: see Absent.
	Ending  []Ending       `json:"ending,omitempty"`
	Plugins []PluginStatus `json:"plugins"`
	// Leaders are the Leases and who holds them; none: everything runs here, whoever else there is.
	Leaders []LeaderStatus `json:"leaders,omitempty"`
	// Missing tells why images that plugins are configured with aren't there, by plugin.
	Missing map[string]string `json:"missing,omitempty"`
	// LeftOut tells why plugins that were found can't be run.
	LeftOut []string `json:"leftOut,omitempty"`
	// Leaving are controllers that were turned off and whose last syncs still wait for an answer of the API server.
	Leaving []string `json:"leaving,omitempty"`
	// Refused is why the configuration as it is now isn't applied.
	Refused string `json:"refused,omitempty"`
	// SigningKeys are the keys that the manager signs with.
	SigningKeys []SigningKey `json:"signingKeys,omitempty"`
	// Keyless are the signers, and "service account tokens", that there is no key for though a controller that has them
	// signed is turned on.
	Keyless []string `json:"keyless,omitempty"`
	// Restart are the fields of the configuration whose values were changed and that are read at the start only.
	Restart []string `json:"restart,omitempty"`
	// Swaps are the last replacements of plugins' versions, the newest first.
	Swaps []Swap `json:"swaps"`
}

// SigningKey is what is known of a key that the manager signs with.
type SigningKey struct {
	// Signs is the signer whose certificates it signs, or "service account tokens".
	Signs string `json:"signs"`
	// Files are those of the certificate and of the key, or of the key alone.
	Files []string `json:"files"`
	// Until is the end of the certificate; a key of tokens has none.
	Until *time.Time `json:"until,omitempty"`
	// Rejected is why what the files say now isn't used, but what they said before.
	Rejected string `json:"rejected,omitempty"`
}

// ProcessStatus is what is known of the process.
type ProcessStatus struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Guardian is the process that gives the Leases up when this one is killed; 0: there is none.
	Guardian int       `json:"guardian,omitempty"`
	Go       string    `json:"go"`
	Started  time.Time `json:"started"`
	// Now is its clock, for ages.
	Now time.Time `json:"now"`
	// Server is the API server that it works for.
	Server string `json:"server"`
	// Memory is what all plugins together hold, of sandbox.totalMemory.
	Memory Memory `json:"memory"`
}

// Memory is what is held on plugins' behalf, in bytes.
type Memory struct {
	Held  int64 `json:"held"`
	Limit int64 `json:"limit"`
	// By is what is held by use: instances, results, state, facts, keys, series and recordings.
	By map[string]int64 `json:"by,omitempty"`
}

// LeaderStatus is a group of controllers with the Lease that decides where they run.
type LeaderStatus struct {
	Group string `json:"group"`
	// Lease is namespace/name.
	Lease string `json:"lease"`
	// Holder is the identity of the process that holds it, empty for none; Here tells that it is this one.
	Holder string `json:"holder,omitempty"`
	Here   bool   `json:"here"`
	// Since is when the holder took it.
	Since *time.Time `json:"since,omitempty"`
	// Controllers are those of the group that are known here.
	Controllers []string `json:"controllers"`
}
