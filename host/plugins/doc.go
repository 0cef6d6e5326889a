// Package plugins finds plugins' modules, checks what they say of themselves, and loads them with their settings.
//
//	found, problems := plugins.Find(ctx, plugins.Builtin{}, plugins.Folder("/etc/windlass/plugins"))
//	loaded, err := plugins.Open(ctx, found[0], plugins.Options(configuration, found[0].Name), settings)
//
// One bad module never keeps the others from being found.
package plugins
