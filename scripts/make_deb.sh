#!/bin/bash
# Debian packages from the source tree, into build/deb: libanygp0, libanygp-dev, anygp, python3-anygp.
#   make_deb.sh            builds them and runs lintian, whose errors are failures
#   make_deb.sh try        installs them in a clean Debian (debootstrap into a folder, needs root and the network), and runs a fit
#                          by the program and one by Python there
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/deb
version=$(sed -n 's/#define ANYGP_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/anygp/anygp.h | paste -sd.)
say() { printf '%s\n' "$*"; }

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || { echo "$1 is missing; apt-get install $2" >&2; exit 1; }
}

build_packages() {
    need dh debhelper
    need lintian lintian
    need dh_python3 dh-python
    local tree=$out/anygp-$version
    rm -rf "$out"
    mkdir -p "$tree"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree" 2>/dev/null || true
    cp -r packaging/debian "$tree/debian"
    sed -e "s/@version@/$version/" -e "s/@date@/$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")/" \
        packaging/debian/changelog.in >"$tree/debian/changelog"
    rm "$tree/debian/changelog.in"
    (cd "$tree" && dpkg-buildpackage -b -us -uc) >"$out/build.log" 2>&1 || { tail -n 60 "$out/build.log" >&2; exit 1; }
    lintian --fail-on error --suppress-tags bad-distribution-in-changes-file "$out"/*.changes
    say "$(ls "$out"/*.deb | grep -v dbgsym)"
}

# In a new root: what the packages need comes from the mirror, nothing else of this machine is seen.
try_packages() {
    need debootstrap debootstrap
    local root=$out/root packages
    packages=$(cd "$out" && ls *.deb | grep -v dbgsym)
    [ -d "$root/usr" ] || debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$out/debootstrap.log" 2>&1 ||
        { tail -n 20 "$out/debootstrap.log" >&2; exit 1; }
    (cd "$out" && cp $packages "$root/tmp/")
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d" # no services there
    chroot "$root" sh -ec "export DEBIAN_FRONTEND=noninteractive; cd /tmp; apt-get update; apt-get install -y --no-install-recommends \
        $(for p in $packages; do printf './%s ' "$p"; done)" >"$out/install.log" 2>&1 || { tail -n 20 "$out/install.log" >&2; exit 1; }
    chroot "$root" sh -ec 'cd /tmp; anygp simulate --rows 200 --inputs 2 -o t.csv; anygp fit t.csv -o t.agp; anygp predict t.agp t.csv | head -n 2
        anygp convert t.csv t.h5; anygp eval t.agp t.h5
        python3 -c "
import numpy, anygp
X = numpy.linspace(0, 6, 50)[:, None]
print(anygp.GPRegressor().fit(X, numpy.sin(X[:, 0])).predict([[1.5]]))"'
}

case "${1:-build}" in
    build) build_packages ;;
    try) try_packages ;;
    *) echo "usage: make_deb.sh [try]" >&2; exit 2 ;;
esac
