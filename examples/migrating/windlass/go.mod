module example.com/quota

go 1.26.0

require github.com/windlass-dev/windlass v0.0.0

replace github.com/windlass-dev/windlass => ../../..
