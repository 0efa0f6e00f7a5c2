//! The charts, as SVG.

use std::ops::Range;

use plotters::prelude::*;

use super::markdown::{Point, points};
use super::report::Report;
use crate::failure::Failure;
use crate::scenario::Scenario;
use crate::system::System;
use crate::transport::Carrier;

const SIZE: (u32, u32) = (960, 540);
const FONT: &str = "sans-serif";
/// Colours that can be told apart by almost everybody (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

/// Name and text of each chart that there are measurements for.
pub(super) fn draw(report: &Report) -> Result<Vec<(String, String)>, Failure> {
    let mut charts = Vec::new();
    for members in report.sizes() {
        if let Some(svg) = times(report, members)? {
            charts.push((format!("time-to-notice-{members}.svg"), svg));
        }
    }
    let points = points(report);
    if points.len() > 1 {
        charts.push(("bytes-against-time.svg".to_owned(), curve(&points)?));
    }
    Ok(charts)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("a chart can't be drawn: {error}"))
}

fn colour_of(system: &System) -> RGBColor {
    match system {
        System::Gms(tuning) if tuning.carrier != Carrier::Udp => COLOURS[6],
        System::Gms(_) => COLOURS[0],
        System::Peer(peer) => COLOURS[1 + *peer as usize],
    }
}

/// All runs of each system and scenario, a dot each, on a scale of powers of ten.
fn times(report: &Report, members: usize) -> Result<Option<String>, Failure> {
    let scenarios: Vec<Scenario> = Scenario::ALL.into_iter().filter(|s| s.has_victims()).collect();
    let systems: Vec<System> = report
        .systems(members, &scenarios)
        .into_iter()
        .filter(|system| !system.is_gms() || !system.name().contains("recipients"))
        .collect();
    let all: Vec<f64> = scenarios
        .iter()
        .flat_map(|scenario| systems.iter().flat_map(|system| report.cell(members, *scenario, system).last_s))
        .collect();
    if all.is_empty() {
        return Ok(None);
    }
    let scenarios: Vec<Scenario> =
        scenarios.into_iter().filter(|scenario| !report.systems(members, &[*scenario]).is_empty()).collect();
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("Fault to the last survivor that sees it, {members} members"), (FONT, 22))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..scenarios.len() as f64, span(&all).log_scale())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(scenarios.len() * 2 + 1)
            .x_label_formatter(&|x: &f64| {
                let is_middle = (x.fract() - 0.5).abs() < 1e-6;
                scenarios
                    .get(*x as usize)
                    .filter(|_| is_middle)
                    .map_or(String::new(), |s| s.name().to_owned())
            })
            .y_desc("seconds")
            .label_style((FONT, 14))
            .draw()
            .map_err(failed)?;
        for (n, system) in systems.iter().enumerate() {
            let colour = colour_of(system);
            let at = (n as f64 + 1.0) / (systems.len() as f64 + 1.0);
            let dots = scenarios.iter().enumerate().flat_map(|(place, scenario)| {
                let times = report.cell(members, *scenario, system).last_s;
                times.into_iter().map(move |time| (place as f64 + at, time))
            });
            chart
                .draw_series(dots.map(|dot| Circle::new(dot, 4, colour.mix(0.7).filled())))
                .map_err(failed)?
                .label(system.name())
                .legend(move |(x, y)| Circle::new((x, y), 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, 14))
            .draw()
            .map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(Some(svg))
}

/// Bytes to the right, seconds upwards: nearer to the corner is better.
fn curve(points: &[Point]) -> Result<String, Failure> {
    let bytes: Vec<f64> = points.iter().map(|point| point.bytes).collect();
    let seconds: Vec<f64> = points.iter().map(|point| point.seconds).collect();
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let mut chart = ChartBuilder::on(&root)
            .caption("What a member sends, and how soon a lost host is noticed", (FONT, 22))
            .margin(16)
            .x_label_area_size(50)
            .y_label_area_size(70)
            .build_cartesian_2d(span(&bytes).log_scale(), span(&seconds).log_scale())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .x_desc("bytes per second and member, idle")
            .y_desc("seconds")
            .label_style((FONT, 14))
            .draw()
            .map_err(failed)?;
        for is_lean in [false, true] {
            let is_on_line = |system: &System| match system {
                System::Gms(tuning) => {
                    tuning.carrier == Carrier::Udp && tuning.recipients.is_some() == is_lean
                }
                System::Peer(_) => false,
            };
            let mut line: Vec<(f64, f64)> =
                points.iter().filter(|p| is_on_line(&p.system)).map(|p| (p.bytes, p.seconds)).collect();
            line.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let colour = if is_lean { COLOURS[5] } else { COLOURS[0] };
            chart.draw_series(LineSeries::new(line, colour.stroke_width(2))).map_err(failed)?;
        }
        let labelled = points.iter().map(|point| {
            let colour = colour_of(&point.system);
            EmptyElement::at((point.bytes, point.seconds))
                + Circle::new((0, 0), 5, colour.filled())
                + Text::new(point.system.name(), (8, -6), (FONT, 12).into_font())
        });
        chart.draw_series(labelled).map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// A range around the values, with some room on both sides.
fn span(values: &[f64]) -> Range<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    (least / 1.5).max(1e-4)..most * 1.5
}
