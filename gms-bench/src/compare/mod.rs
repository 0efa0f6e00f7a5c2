//! `gms-bench compare`: the same faults on the same machine, interleaved, for GMS and for other systems.

mod charts;
mod drivers;
mod machine;
mod markdown;
mod matching;
mod plan;
mod report;
mod running;
mod targets;

use std::path::Path;

use crate::args::{CompareArgs, RenderArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use crate::system::Tools;

use plan::Plan;
use report::Report;

/// `gms-bench compare`
pub(crate) fn command(args: &CompareArgs) -> Result<(), Failure> {
    let plan = Plan::of(args)?;
    create(&args.out)?;
    for note in &plan.notes {
        tell(note);
    }
    let bench = std::env::current_exe()
        .map_err(|error| Failure::fault(format!("this program does not know where it is: {error}")))?;
    let drivers = drivers::build(&plan.peers)?;
    let interrupt = Interrupt::on_signals()?;
    let mut report = Report::new(&plan);
    let ran = running::run_all(&plan, &Tools { bench, drivers }, &interrupt, &mut report);
    // What was measured up to an interruption is worth keeping.
    if !report.runs.is_empty() {
        write_out(&report, &args.out)?;
    }
    ran
}

/// `gms-bench render`
pub(crate) fn render(args: &RenderArgs) -> Result<(), Failure> {
    let mut reports = args.reports.iter().map(|path| Report::read(path));
    let first = reports.next().ok_or_else(|| Failure::Usage("name a report".into()))??;
    let report = reports.try_fold(first, |mut all, more| {
        all.absorb(more?);
        Ok::<_, Failure>(all)
    })?;
    create(&args.out)?;
    write_out(&report, &args.out)
}

/// Says something to who watches; what can't be written nobody reads.
fn tell(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn create(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|error| {
        Failure::Usage(format!("--out {} can't be made ({error}): name a writable folder", dir.display()))
    })
}

fn write_out(report: &Report, dir: &Path) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text)
            .map_err(|error| Failure::fault(format!("{} can't be written: {error}", path.display())))
    };
    write("report.json", &report.json()?)?;
    let charts = charts::draw(report)?;
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    let text = markdown::render(report, &names);
    write("report.md", &text)?;
    for (name, svg) in &charts {
        write(name, svg)?;
    }
    print(&text)?;
    tell(&format!("written to {}: report.json, report.md {}", dir.display(), names.join(" ")));
    Ok(())
}

#[cfg(test)]
mod tests;
