// Package life plays scripts of what happens to objects in a cluster: each controller has one in its folder, as
// life.yaml.
//
// A life has a piece of work and further scenarios. Each is a script, played in a namespace of its own: steps that
// create, patch and delete objects, end pods as a kubelet would, say what the metrics APIs serve, and wait for
// conditions; and, as its rest, what holds in the end, when nothing is written any more. Scripts say nothing of
// who runs the controllers, so the same is played under the native manager and under Windlass, before and after a
// takeover, or for a recording.
//
// In strings $(namespace) is the script's namespace, $(i) the number of a repeated object, and $(uid KIND NAME)
// the UID that an object has by then.
package life
