// Package life plays scripts of what happens to objects in a cluster: each controller has one in its folder, as
// life.yaml.
//
// A life has a piece of work and further scenarios. Each is a script, played in a namespace of its own: steps that
// create, patch and delete objects, end pods as a kubelet would, say what the metrics APIs serve, and wait for
// conditions of objects, events and requests, and of their order; and, as its rest, what holds in the end, when
// nothing is written any more. Steps can also have admission refuse changes, watch in which order pods come and go and
// within which bounds, and take down what there is on the way. Scripts say nothing of who runs the controllers, so the
// same is played under the native manager and under Windlass, with one taking over from the other where a script is
// midway, or for a recording.
//
// What one script does to the whole cluster the others would notice, and some things must be there before a manager
// runs. Such scripts are in further files, life-KIND.yaml: those of a kind are played together, when everything else
// has been played.
//
// In strings $(namespace) is the script's namespace, $(i) the number of a repeated object, and $(uid KIND NAME)
// the UID that an object has by then.
package life
