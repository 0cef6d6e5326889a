// Package planted has controllers with one known mistake each, to see that the testing kit finds it. They differ in one
// part each from the one in folder correct, in which it finds nothing. World, options and checks are the same for all
// of them.
package planted
