package misc

import (
	"context"
	"fmt"
	"math"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

const (
	earthRadius = 6371.0088 // km, the mean
	mile        = 1.609344  // km
)

// point is a place in decimal degrees.
type point struct{ lat, lon float64 }

func (p point) String() string { return "(" + spec.Digits(p.lat) + ", " + spec.Digits(p.lon) + ")" }

// pointArgs returns the two arguments of a point.
func pointArgs(lat, lon, whose string) []spec.Arg {
	return []spec.Arg{
		spec.Number(lat, "the latitude of "+whose+", -90 to 90").Required(), spec.Number(lon, "the longitude of "+whose+", -180 to 180").Required(),
	}
}

// pointOf parses a point, whose numbers have to be in range.
func pointOf(c spec.Call, lat, lon, whose string) (point, error) {
	p := point{c.Number(lat), c.Number(lon)}
	if math.Abs(p.lat) > 90 {
		return p, fmt.Errorf("latitude of %s is %s, want -90 to 90", whose, spec.Digits(p.lat))
	}
	if math.Abs(p.lon) > 180 {
		return p, fmt.Errorf("longitude of %s is %s, want -180 to 180", whose, spec.Digits(p.lon))
	}
	return p, nil
}

// kilometres returns the great-circle distance, by the haversine formula.
func kilometres(a, b point) float64 {
	radians := func(degrees float64) float64 { return degrees * (math.Pi / 180) }
	half := func(x float64) float64 { s := math.Sin(x / 2); return float64(s * s) }
	h := half(radians(b.lat-a.lat)) + float64(math.Cos(radians(a.lat))*math.Cos(radians(b.lat))*half(radians(b.lon-a.lon)))
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}

// twoPoints parses two points.
func twoPoints(c spec.Call, first, second [3]string) (a, b point, err error) {
	if a, err = pointOf(c, first[0], first[1], first[2]); err != nil {
		return a, b, err
	}
	b, err = pointOf(c, second[0], second[1], second[2])
	return a, b, err
}

// GeoDistance returns the tool that measures a distance on the earth.
func GeoDistance() *adk.Tool {
	first, second := [3]string{"lat1", "lon1", "point 1"}, [3]string{"lat2", "lon2", "point 2"}
	return spec.Tool{
		Name:        "geo_distance",
		Description: "Measures the great-circle distance of two points, given in decimal degrees, in kilometers and miles.",
		Args:        append(pointArgs(first[0], first[1], first[2]), pointArgs(second[0], second[1], second[2])...),
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			a, b, err := twoPoints(c, first, second)
			if err != nil {
				return "", err
			}
			km := kilometres(a, b)
			return fmt.Sprintf("Distance: %s km / %s miles", spec.Fixed(km, 4), spec.Fixed(km/mile, 4)), nil
		},
	}.Make()
}

// GeoWithinRadius returns the tool that says whether a point is near another.
func GeoWithinRadius() *adk.Tool {
	place, center := [3]string{"lat", "lon", "the point"}, [3]string{"center_lat", "center_lon", "the center"}
	return spec.Tool{
		Name:        "geo_within_radius",
		Description: "Says whether a point lies within a radius around a center, in kilometers or miles. Points are in decimal degrees.",
		Args: append(append(pointArgs(place[0], place[1], place[2]), pointArgs(center[0], center[1], center[2])...),
			spec.Number("radius", "the radius, more than 0").Required(), spec.Word("unit", "the unit of the radius", "km", "miles").Default("km")),
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			p, middle, err := twoPoints(c, place, center)
			if err != nil {
				return "", err
			}
			radius, unit := c.Number("radius"), c.Text("unit")
			if radius <= 0 {
				return "", fmt.Errorf("radius must be positive, and is %s", spec.Digits(radius))
			}
			distance, word := kilometres(p, middle), "No"
			if unit == "miles" {
				distance /= mile
			}
			if distance <= radius {
				word = "Yes"
			}
			return fmt.Sprintf("%s — distance is %s %s (radius: %s %s)", word, spec.Fixed(distance, 4), unit, spec.Digits(radius), unit), nil
		},
	}.Make()
}

// between reports whether a longitude lies between two others, also across the date line.
func between(lon, west, east float64) bool {
	if west > east {
		return lon >= west || lon <= east
	}
	return lon >= west && lon <= east
}

// GeoBBoxContains returns the tool that says whether a point lies in a box.
func GeoBBoxContains() *adk.Tool {
	south, north := [3]string{"sw_lat", "sw_lon", "the SW corner"}, [3]string{"ne_lat", "ne_lon", "the NE corner"}
	return spec.Tool{
		Name:        "geo_bbox_contains",
		Description: "Says whether a point lies in the box between a southwest and a northeast corner, also across the date line, where the west is greater than the east. Points are in decimal degrees.",
		Args:        append(append(pointArgs("lat", "lon", "the point"), pointArgs(south[0], south[1], south[2])...), pointArgs(north[0], north[1], north[2])...),
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			p, err := pointOf(c, "lat", "lon", "the point")
			if err != nil {
				return "", err
			}
			sw, ne, err := twoPoints(c, south, north)
			if err != nil {
				return "", err
			}
			if sw.lat > ne.lat {
				return "", fmt.Errorf("SW latitude %s is above NE latitude %s", spec.Digits(sw.lat), spec.Digits(ne.lat))
			}
			inside := between(p.lon, sw.lon, ne.lon) || math.Abs(p.lon) == 180 && between(-p.lon, sw.lon, ne.lon)
			word, where := "No", "outside"
			if inside && p.lat >= sw.lat && p.lat <= ne.lat {
				word, where = "Yes", "inside"
			}
			return fmt.Sprintf("%s — point %s is %s the box from %s to %s", word, p, where, sw, ne), nil
		},
	}.Make()
}
