package config

import (
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// recordingMax bounds what is kept of a controller: it is in memory.
const recordingMax = 1 << 30

func (r *Recordings) validate(p *field.Path) (errs field.ErrorList) {
	if b := r.Bytes.Value(); b < 0 || b > recordingMax {
		errs = append(errs, field.Invalid(p.Child("bytes"), r.Bytes.String(), "must be from 0 to 1Gi"))
	}
	if r.FolderFiles < 1 {
		errs = append(errs, field.Invalid(p.Child("folderFiles"), r.FolderFiles, "must be at least 1"))
	}
	if r.FolderBytes.Value() < 1 {
		errs = append(errs, field.Invalid(p.Child("folderBytes"), r.FolderBytes.String(), "must be more than 0"))
	}
	if info, err := os.Stat(r.Folder); r.Folder != "" && err == nil && !info.IsDir() {
		errs = append(errs, field.Invalid(p.Child("folder"), r.Folder, "is a file: name a folder for recordings"))
	}
	return errs
}
