//! Finds the least of Rosenbrock's function by Newton's method along coordinates, with kernels of
//! gradc, and prints every bit of the way. models.o comes from examples/models.py:
//!
//!     rustc main.rs -C link-arg=models.o -o main

use std::os::raw::{c_int, c_void};

extern "C" {
    fn rosen_vg_worksize(n: i64) -> usize;
    fn rosen_vg(n: i64, x: *const f64, y: *mut f64, g_x: *mut f64, work: *mut c_void) -> c_int;
    fn rosen_hess_worksize(n: i64) -> usize;
    fn rosen_hess(n: i64, x: *const f64, h: *mut f64, work: *mut c_void) -> c_int;
}

/// A kernel with its scratch: what a caller sees is safe.
struct Rosen {
    work: Vec<u8>,
}

impl Rosen {
    fn new(most: usize) -> Rosen {
        let n = most as i64;
        let bytes = unsafe { rosen_vg_worksize(n).max(rosen_hess_worksize(n)) };
        Rosen { work: vec![0; bytes + 1] }
    }

    fn value_and_gradient(&mut self, x: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut slope) = (0.0, vec![0.0; x.len()]);
        let work = self.work.as_mut_ptr() as *mut c_void;
        let status = unsafe {
            rosen_vg(x.len() as i64, x.as_ptr(), &mut value, slope.as_mut_ptr(), work)
        };
        assert_eq!(status, 0);
        (value, slope)
    }

    fn hessian(&mut self, x: &[f64]) -> Vec<f64> {
        let mut hessian = vec![0.0; x.len() * x.len()];
        let work = self.work.as_mut_ptr() as *mut c_void;
        let status =
            unsafe { rosen_hess(x.len() as i64, x.as_ptr(), hessian.as_mut_ptr(), work) };
        assert_eq!(status, 0);
        hessian
    }
}

fn print(name: &str, numbers: &[f64]) {
    for (i, number) in numbers.iter().enumerate() {
        println!("{} {} {:016x}", name, i, number.to_bits());
    }
}

fn main() {
    let mut rosen = Rosen::new(5);
    let mut x: Vec<f64> = (0..5).map(|i| ((37 * i + 5) % 101) as f64 / 64.0 + 0.25).collect();
    for _ in 0..10 {
        let (_, slope) = rosen.value_and_gradient(&x);
        let hessian = rosen.hessian(&x);
        for i in 0..5 {
            x[i] -= 0.5 * slope[i] / hessian[6 * i].abs();
        }
    }
    let (value, slope) = rosen.value_and_gradient(&x);
    print("x", &x);
    print("value", &[value]);
    print("slope", &slope);
}
